import * as z from "zod";
import { invalidInput } from "../driver.ts";
import type { Client } from "./client.ts";
import { archOf } from "./machine.ts";
import { listAll } from "./resources.ts";
import { serverType as serverTypeShape } from "./schema.ts";

const newest = z.object({ images: z.array(z.object({ id: z.int().positive() })) });

/** The newest snapshot with these labels that a server type can boot, by its id: an image is of one architecture. */
export async function findSnapshot(call: Client, labelSelector: string, serverType: string): Promise<string> {
  const [type] = await listAll(call, "server_types", serverTypeShape, { name: serverType });
  if (type?.name !== serverType)
    throw invalidInput({ field: "server_type", rule: "must be one that the provider has" });
  const query = Object.entries({
    type: "snapshot",
    status: "available",
    architecture: type.architecture,
    label_selector: labelSelector,
    sort: "created:desc",
    per_page: "1",
  }).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  const { images } = await call({ method: "GET", path: `/images?${query.join("&")}`, answer: newest });
  const [found] = images;
  if (found) return String(found.id);
  throw invalidInput({
    field: "image",
    rule: `must select a snapshot that is there: none for ${archOf(type.architecture)} has these labels`,
  });
}
