/** Which fields of a body differ from those of the body that a name was taken with. No value of either is kept or told. */
import { sha256Hex } from "../auth/hash.ts";
import type { Attachment } from "../machine/attachment.ts";
import type { MachineRow } from "../machine/machine.ts";
import type { ResourceKind, ResourceSpec } from "../machine/resource.ts";
import type { MachineOrder } from "./order.ts";
import { attachmentInOrder, imageSaid, labelsInOrder } from "./spec-hash.ts";

/** Long enough to tell two bodies apart, and too short to be sure of a guess. */
const HASH_LENGTH = 12;

type Said = readonly (readonly [field: string, value: unknown])[];

/**
 * A hash of each field that an order says, by the field's name in the API; what was not said has none. They are of this uid alone: equal
 * bodies of two machines cannot be told from them, nor looked up in a table of likely ones.
 */
export async function hashFields(order: MachineOrder, uid: string): Promise<Readonly<Record<string, string>>> {
  const hashed = saidIn(order).map(async ([field, value]) => {
    const hash = await sha256Hex(`${uid} ${field} ${JSON.stringify(value)}`);
    return [field, hash.slice(0, HASH_LENGTH)] as const;
  });
  return Object.fromEntries(await Promise.all(hashed));
}

/**
 * The fields that an order says otherwise than the one that a row was written for, as the API orders them; none where the row does not
 * know. `withTtl`: the length too, which is no part of a spec.
 */
export async function differingFields(
  { uid, specFields }: Pick<MachineRow, "uid" | "specFields">,
  order: MachineOrder,
  withTtl = false,
): Promise<readonly string[]> {
  if (specFields === null) return [];
  const hashed = await hashFields(order, uid);
  return FIELDS.filter((field) => (withTtl || field !== TTL) && specFields[field] !== hashed[field]);
}

/** The same of a firewall, a network or a key, whose spec is kept. */
export function differingSpec(kept: ResourceSpec, said: ResourceSpec): readonly string[] {
  const wanted = new Map(specFieldsOf(said));
  return specFieldsOf(kept).flatMap(([field, value]) =>
    JSON.stringify(value) === JSON.stringify(wanted.get(field)) ? [] : [field],
  );
}

const TTL = "ttl";

/** All that a machine's spec is made of, and how long it was to live at first. */
function allIn(order: MachineOrder): Said {
  const { attachments = [], without = [] } = order;
  const usedOf = (kind: ResourceKind): unknown => {
    const used = attachments.filter((one) => one.kind === kind).map((one) => attachmentInOrder(anywhere(one)));
    return used.length > 0 || without.includes(kind) ? used : undefined;
  };
  return [
    ["server_type", order.serverTypes],
    ["region", order.regions],
    ["arch", order.arch],
    ["image", imageSaid(order.image)],
    ["labels", labelsInOrder(order.labels)],
    ["cloud_init", order.cloudInit],
    ["enable_ipv4", order.enableIpv4],
    ["enable_ipv6", order.enableIpv6],
    ["keep_on_failure", order.keepOnFailure],
    ["ssh_keys", usedOf("ssh_key")],
    ["firewalls", usedOf("firewall")],
    ["networks", usedOf("network")],
    ["profile", order.profile],
    [TTL, order.ttl],
  ];
}

/** A network that is made with a machine is where the machine is, which is another field. */
const anywhere = (one: Attachment): Attachment =>
  one.by === "spec" && one.spec.kind === "network" ? { ...one, spec: { ...one.spec, region: "" } } : one;

const FIELDS = allIn({}).map(([field]) => field);
const saidIn = (order: MachineOrder): Said => allIn(order).filter(([, value]) => value !== undefined);

function specFieldsOf(spec: ResourceSpec): Said {
  if (spec.kind === "ssh_key") return [["public_key", spec.publicKey]];
  if (spec.kind === "network")
    return [
      ["ip_range", spec.ipRange],
      ["region", spec.region],
    ];
  const rules = spec.rules.map(({ direction, protocol, port, ranges, description }) => [
    direction,
    protocol,
    port,
    ranges,
    description,
  ]);
  return [
    ["rules", rules],
    ["deny_all", spec.denyAll],
  ];
}
