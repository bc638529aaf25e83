import { isRunning, type Subject } from "./action-record.ts";
import { IMAGES } from "./images.ts";
import type { Image } from "./resources.ts";
import type { World } from "./world.ts";

/** An image; the project's own ones are snapshots and backups. */
export interface ImageRecord extends Subject {
  type: "image";
  /** As it is when it has been made; what it is until then follows from its `create_image`. */
  view: Image;
}

const SYSTEM_IMAGES: readonly (readonly [number, ImageRecord])[] = IMAGES.map(
  (view) => [view.id, { type: "image", view, actions: [] }] as const,
);

/** Everything that `GET /images` knows: Hetzner's images and the project's. */
export function allImages({ images }: World): ReadonlyMap<number, ImageRecord> {
  return new Map([...SYSTEM_IMAGES, ...images]);
}

/** The image as the API shows it at that time. Source: Hetzner API, Images. */
export function renderImage({ view, actions }: ImageRecord, now_ms: number): Image {
  const creation = actions.find(({ command }) => command === "create_image");
  if (creation === undefined) return view;
  if (isRunning(creation, now_ms)) return { ...view, status: "creating", image_size: null };
  return creation.failure === null ? view : { ...view, status: "unavailable", image_size: null };
}

/** A server's backups go with it; its snapshots stay. */
export function deleteBackups({ images }: World, server_id: number): void {
  for (const { view } of images.values()) if (view.bound_to === server_id) images.delete(view.id);
}
