import { ControlError } from "./errors.ts";
import { isId } from "./fields.ts";
import { allImages, type ImageRecord } from "./image-record.ts";
import { isObject } from "./json.ts";
import type { Image } from "./resources.ts";
import type { World } from "./world.ts";

/** An image to put in as given; `created` and `labels` stay away when not given, the rest makes an x86 snapshot. */
export type ImageSeed = Partial<Image>;

/** Whether the control plane can store this: the id must be usable, the rest is taken on trust and served so. */
export function isImageSeed(value: unknown): value is ImageSeed {
  return isObject(value) && (value["id"] === undefined || isId(value["id"]));
}

/** Puts an image in as given, past all the API's checks. */
export function addImage(world: World, seed: ImageSeed): ImageRecord {
  const id = seed.id ?? world.next_id.image;
  if (allImages(world).has(id)) throw new ControlError(`there is an image with the id ${id} already`);
  world.next_id.image = Math.max(world.next_id.image, id + 1);
  const view: Image = {
    id,
    type: "snapshot",
    status: "available",
    name: null,
    description: `image-${id}`,
    image_size: 1.5,
    disk_size: 40,
    created_from: null,
    bound_to: null,
    os_flavor: "debian",
    os_version: "13",
    rapid_deploy: false,
    protection: { delete: false },
    deprecation: null,
    deleted: null,
    architecture: "x86",
    ...seed,
  };
  const record: ImageRecord = { type: "image", view, actions: [] };
  world.images.set(id, record);
  return record;
}
