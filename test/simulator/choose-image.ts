import type { Call } from "./call.ts";
import { findImage } from "./catalogue.ts";
import { ApiError, notFound } from "./errors.ts";
import { renderImage } from "./image-record.ts";
import type { Image, ServerType } from "./resources.ts";

/** The image that a create names, by name if it has one or by id, if a server of that type can be made from it. */
export function chooseImage({ world, now_ms }: Call, wanted: string, type: ServerType): Image {
  const own = [...world.images.values()].find(({ view }) => String(view.id) === wanted);
  const image = own === undefined ? findImage(wanted, type.architecture) : renderImage(own, now_ms);
  if (image === undefined) throw notFound("image");
  const complaint = complaintAbout(image, type, now_ms);
  if (complaint !== null) throw new ApiError(422, "invalid_input", complaint);
  return image;
}

function complaintAbout(image: Image, type: ServerType, now_ms: number): string | null {
  if (image.architecture !== type.architecture) return "image architecture does not match the server type";
  if (image.deprecation !== null && now_ms >= Date.parse(image.deprecation.unavailable_after))
    return `image ${image.name ?? image.id} is deprecated`;
  if (image.status !== "available") return `image ${image.id} is ${image.status}`;
  return image.disk_size > type.disk ? "image disk is bigger than server type disk" : null;
}
