import { isLocked } from "./action-record.ts";
import { noContent, ok, type Call, type Reply } from "./call.ts";
import { ApiError, locked } from "./errors.ts";
import { Fields } from "./fields.ts";
import { allImages, renderImage, type ImageRecord } from "./image-record.ts";
import { creationOrder, filterValues, labelFilter, page, sorted } from "./lists.ts";
import { withRecord } from "./lookup.ts";
import type { Image } from "./resources.ts";

/** Wraps a handler of one image, Hetzner's or the project's. */
export const withImage = withRecord("image", allImages);

/** Wraps a handler that changes an image: Hetzner's own are not the project's to change. */
export function withOwnImage(handle: (call: Call, record: ImageRecord) => Reply) {
  return withImage((call, record) => {
    if (!call.world.images.has(record.view.id))
      throw new ApiError(422, "invalid_input", "only images of type snapshot and backup can be changed");
    return handle(call, record);
  });
}

/** `GET /images`; deprecated ones only on demand. Source: Hetzner API, Images. */
export function listImages(call: Call): Reply {
  const query = call.url.searchParams;
  const name = query.get("name");
  const types = filterValues(call, "type", ["system", "app", "snapshot", "backup"]);
  const statuses = filterValues(call, "status", ["available", "creating", "unavailable"]);
  const architectures = filterValues(call, "architecture", ["x86", "arm"]);
  const matches = labelFilter(call);
  const images = [...allImages(call.world).values()]
    .map((record) => renderImage(record, call.now_ms))
    .filter(
      (image) =>
        (name === null || image.name === name) &&
        (query.get("include_deprecated") === "true" || image.deprecation === null) &&
        (!query.has("bound_to") || query.getAll("bound_to").includes(String(image.bound_to))) &&
        (types?.includes(image.type) ?? true) &&
        (statuses?.includes(image.status) ?? true) &&
        (architectures?.includes(image.architecture) ?? true) &&
        matches(image.labels ?? {}),
    );
  return page(call, "images", sorted(call, images, SORT_FIELDS), (image) => image);
}

const SORT_FIELDS = {
  id: (image: Image) => image.id,
  name: (image: Image) => image.name ?? "",
  created: (image: Image) => creationOrder(image),
};

/** `GET /images/{id}`. Source: Hetzner API, Images. */
export function getImage(call: Call, record: ImageRecord): Reply {
  return ok({ image: renderImage(record, call.now_ms) });
}

/** `PUT /images/{id}`: a backup can become a snapshot, not the other way. Source: Hetzner API, Images. */
export function updateImage(call: Call, record: ImageRecord): Reply {
  const { view } = record;
  const fields = new Fields(call.body);
  const description = fields.string("description") ?? view.description;
  const labels = fields.has("labels") ? { labels: fields.labels("labels") } : {};
  const type = fields.oneOf("type", ["snapshot"]);
  fields.check();
  const conversion = type === null ? {} : { type, bound_to: null };
  record.view = { ...view, description, ...labels, ...conversion };
  return getImage(call, record);
}

/** `DELETE /images/{id}`; servers that were made from it go on. Source: Hetzner API, Images. */
export function deleteImage({ world, now_ms }: Call, record: ImageRecord): Reply {
  // Whoever put an image in may have left this out.
  if (record.view.protection?.delete) throw new ApiError(423, "protected", "image deletion is protected");
  if (isLocked(record, now_ms)) throw locked("image");
  world.images.delete(record.view.id);
  return noContent();
}
