import { sha256Hex } from "../auth/hash.ts";
import type { Attachment } from "../machine/attachment.ts";
import type { ResourceSpec } from "../machine/resource.ts";
import type { MachineOrder } from "./order.ts";

/**
 * What is remembered of an order: two orders are the same spec if this is equal. Of what was said, defaults not expanded, `ttl` left
 * out. Rows live by it: the spelling here can never change.
 */
export const specHash = (order: MachineOrder): Promise<string> => hashOf(order, asMeant);

/** What was remembered of it before ranges had one spelling: as the caller spells them. Null where it spells all of them that way. */
export const formerSpecHash = async (order: MachineOrder): Promise<string | null> =>
  order.attachments?.some((one) => one.by === "spec" && one.said !== undefined)
    ? hashOf(order, ({ spec, said = spec }) => said)
    : null;

type MadeWith = Attachment & { by: "spec" };

function hashOf(order: MachineOrder, specIn: (one: MadeWith) => ResourceSpec): Promise<string> {
  const { profile, image, labels, attachments = [], without = [] } = order;
  const said = [
    order.serverTypes,
    order.regions,
    order.arch,
    imageSaid(image),
    labelsInOrder(labels),
    order.cloudInit,
    order.enableIpv4,
    order.enableIpv6,
    order.keepOnFailure,
    // Left out where there is none, so that bodies from before these fields keep their hash.
    ...(attachments.length === 0 ? [] : [attachments.map((one) => attachmentInOrder(one, specIn))]),
    // A profile by its name: what it says may change, and the order is the same. What was said to be none overrules it.
    ...(profile === undefined ? [] : [{ profile, without }]),
  ];
  return sha256Hex(JSON.stringify(said.map((value) => value ?? null)));
}

/** An image as a caller says it. */
export const imageSaid = (image: MachineOrder["image"]): unknown =>
  typeof image === "object" ? { label_selector: image.labelSelector } : image;

/** Labels in one order, whoever put them together. */
export const labelsInOrder = (labels: MachineOrder["labels"]): unknown =>
  labels && Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));

const asMeant = ({ spec }: MadeWith): ResourceSpec => spec;

/** What is attached, with its keys in one order; `specIn` tells which spelling of what is made with a machine counts. */
export function attachmentInOrder(one: Attachment, specIn: (one: MadeWith) => ResourceSpec = asMeant): unknown {
  const { field, kind } = one;
  if (one.by === "spec") return { field, kind, by: one.by, spec: specInOrder(specIn(one)) };
  if (one.by === "id") return { field, kind, by: one.by, id: one.id };
  const { ref } = one;
  const plain = ref.by === "uid" ? { by: ref.by, uid: ref.uid } : { by: ref.by, name: ref.name };
  return { field, kind, by: one.by, ref: plain };
}

function specInOrder(spec: ResourceSpec): ResourceSpec {
  if (spec.kind === "ssh_key") return { kind: spec.kind, publicKey: spec.publicKey };
  if (spec.kind === "network") return { kind: spec.kind, ipRange: spec.ipRange, region: spec.region };
  const rules = spec.rules.map(({ direction, protocol, port, ranges, description }) => ({
    direction,
    protocol,
    port,
    ranges,
    // Left out where there is none, as above.
    ...(description === undefined ? {} : { description }),
  }));
  return { kind: spec.kind, rules, denyAll: spec.denyAll };
}
