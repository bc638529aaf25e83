import * as z from "zod";
import { PROTOCOLS, type FirewallRule } from "../../machine/firewall.ts";
import { isUnsentResource } from "../../lifecycle/resources.ts";
import { idOf } from "../../machine/name.ts";
import { resourceId, resourceStatus, type ResourceKind, type ResourceRow } from "../../machine/resource.ts";
import { pagination } from "../edge/schemas.ts";
import { timeOf, timeOrNull } from "../edge/times.ts";

const time = z.iso.datetime();

/** What all have as the API shows them. */
const common = {
  id: z.string(),
  name: z.string(),
  owner: z.string(),
  status: z.enum(["creating", "active", "deleting", "deleted", "failed"]),
  reason: z.string().nullable(),
  provider: z.string(),
  provider_id: z.string().nullable(),
  machines: z
    .array(z.string())
    .meta({ description: "ids of the live machines that use it; while there are any it stays" }),
  labels: z.record(z.string(), z.string()),
  created_at: time.nullable(),
  expires_at: time.nullable().meta({ description: "the end of its own lease; null where it ends with its machine" }),
  deleted_at: time.nullable(),
  unsent: z.literal(true).optional().meta({ description: "only while it is `creating` and nobody is making it" }),
  next: z.string().optional().meta({ description: "what to do about that" }),
};
const rule = z.object({
  direction: z.enum(["in", "out"]),
  protocol: z.enum(PROTOCOLS),
  port: z.string().optional(),
  source_ips: z.array(z.string()).readonly().optional(),
  destination_ips: z.array(z.string()).readonly().optional(),
  description: z.string().optional(),
});
/** And with the fields of each kind. */
const BY_KIND = {
  ssh_key: z.object({ ...common, public_key: z.string() }).meta({ id: "SshKey" }),
  firewall: z.object({ ...common, rules: z.array(rule) }).meta({ id: "Firewall" }),
  network: z.object({ ...common, ip_range: z.string(), region: z.string() }).meta({ id: "Network" }),
} as const satisfies Readonly<Record<ResourceKind, z.ZodObject>>;
/** One of any kind. */
export const resourceJson = z.union([BY_KIND.firewall, BY_KIND.network, BY_KIND.ssh_key]);

/** Where each kind is to be found, and how answers wrap it. */
export const PLURALS = { firewall: "firewalls", network: "networks", ssh_key: "ssh_keys" } as const satisfies Readonly<
  Record<ResourceKind, string>
>;

/** A list answer of one kind. */
export const manyOf = (kind: ResourceKind) =>
  z.object({ [PLURALS[kind]]: z.array(BY_KIND[kind]), meta: z.object({ pagination }) });
export const oneOf = (kind: ResourceKind) => z.object({ [kind]: BY_KIND[kind] });

/** Shows a row at `now`, and who uses it. */
export function toJson(row: ResourceRow, machineUids: readonly string[], now: number): z.infer<typeof resourceJson> {
  return {
    id: resourceId(row.spec.kind, row.uid),
    name: row.name,
    owner: row.owner,
    status: resourceStatus(row),
    reason: row.reason,
    provider: row.provider,
    provider_id: row.providerId,
    machines: machineUids.map(idOf),
    labels: row.labels,
    created_at: timeOrNull(row.createdAt),
    expires_at: row.expiresAt > row.requestedAt || row.deleteRequestedAt !== null ? timeOf(row.expiresAt) : null,
    deleted_at: timeOrNull(row.deletedAt),
    ...fieldsOf(row),
    ...(isUnsentResource(row, now) ? { unsent: true as const, next: UNSENT } : {}),
  };
}

const UNSENT = "Repeat the call that asked for it, with the same body: it was cut off, and cannot be doubled.";

function fieldsOf({ spec }: ResourceRow) {
  if (spec.kind === "ssh_key") return { public_key: spec.publicKey };
  if (spec.kind === "firewall") return { rules: spec.rules.map(ruleJson) };
  return { ip_range: spec.ipRange, region: spec.region };
}

const ruleJson = ({ direction, protocol, port, ranges, description }: FirewallRule) => ({
  direction,
  protocol,
  ...(port === null ? {} : { port }),
  ...(ranges.length === 0 ? {} : { [direction === "in" ? "source_ips" : "destination_ips"]: ranges }),
  ...(description === undefined ? {} : { description }),
});
