import { IMAGE_LABEL } from "../../machine/labels.ts";
import { parseImageSelector } from "../../machine/selector.ts";
import { DriverError, invalidInput, isNotFound } from "../driver.ts";
import { checkId } from "./account.ts";
import type { Client } from "./client.ts";
import { archOf } from "./machine.ts";
import { listAll, ONE_PAGE } from "./resources.ts";
import { imageAnswer, imagesAnswer, serverType as serverTypeShape, type Image } from "./schema.ts";

/** Whether whoever runs this has set an image apart for callers to boot. */
const isLent = ({ labels }: Image): boolean => Object.hasOwn(labels ?? {}, IMAGE_LABEL);

/** A create asks for it, and may not take long. */
const TIMEOUT_MS = 5_000;

/** The newest snapshot to lend with these labels that a server type can boot, by its id: an image is of one architecture. */
export async function findSnapshot(call: Client, labelSelector: string, serverType: string): Promise<string> {
  const terms = parseImageSelector(labelSelector);
  if (!terms.ok) throw invalidInput(terms.problem);
  const asked = { ...ONE_PAGE, query: { name: serverType }, timeoutMs: TIMEOUT_MS };
  const [type] = await listAll(call, "server_types", serverTypeShape, asked);
  if (type?.name !== serverType)
    throw invalidInput({ field: "server_type", rule: "must be one that the provider has" });
  const query = Object.entries({
    type: "snapshot",
    status: "available",
    architecture: type.architecture,
    label_selector: `${labelSelector},${IMAGE_LABEL}`,
    sort: "created:desc",
    per_page: "1",
  }).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  const path = `/images?${query.join("&")}`;
  const { images } = await call({ method: "GET", path, answer: imagesAnswer, timeoutMs: TIMEOUT_MS });
  // Not trusted to have selected (S80).
  const found = images.find((image) => image.type === "snapshot" && isLent(image));
  if (found) return String(found.id);
  throw invalidInput({
    field: "image",
    rule: `must select a snapshot that is there: none for ${archOf(type.architecture)} has these labels and \`${IMAGE_LABEL}\``,
  });
}

/** The provider's own, which anybody may boot. */
const PUBLIC_TYPES: ReadonlySet<string> = new Set(["system", "app"]);

/** Throws `invalid_input` for an image that is given by its id and is not to be lent. A name is none of a snapshot: they have none. */
export async function checkImage(call: Client, image: string): Promise<void> {
  // Whatever a provider might read as a number is an id, or it is refused.
  if (Number.isNaN(Number(image))) return;
  const path = `/images/${checkId(image, "image")}`;
  const shown = await readImage(call, path);
  if (String(shown.id) !== image) throw new DriverError("unexpected", "the provider's answer is about another image");
  if (!PUBLIC_TYPES.has(shown.type) && !isLent(shown))
    throw invalidInput({
      field: "image",
      rule: `must be a public image, or a snapshot with the label \`${IMAGE_LABEL}\``,
    });
}

async function readImage(call: Client, path: string): Promise<Image> {
  try {
    return (await call({ method: "GET", path, absence: "not_found", answer: imageAnswer })).image;
  } catch (error) {
    if (isNotFound(error)) throw invalidInput({ field: "image", rule: "must be an image that the provider has" });
    throw error;
  }
}
