import * as z from "zod";
import {
  RESOURCE_KINDS,
  RESOURCE_PHASES,
  type ResourceKind,
  type ResourceRow,
  type ResourceSpec,
} from "../machine/resource.ts";
import { ROW_REASONS } from "../machine/reason.ts";
import { jsonText } from "./rows.ts";

const rule = z.object({
  direction: z.enum(["in", "out"]),
  protocol: z.enum(["tcp", "udp", "icmp"]),
  port: z.string().nullable(),
  ranges: z.array(z.string()),
});
const specShape: z.ZodType<ResourceSpec> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("firewall"), rules: z.array(rule), denyAll: z.boolean() }),
  z.object({ kind: z.literal("network"), ipRange: z.string(), region: z.string() }),
  z.object({ kind: z.literal("ssh_key"), publicKey: z.string() }),
]);
const time = z.int().nullable();

/** A row of `resources` as D1 returns it, in the domain's words. */
export const resourceRow: z.ZodType<ResourceRow> = z
  .object({
    uid: z.string(),
    label_uid: z.string().nullable(),
    owner: z.string(),
    name: z.string(),
    provider: z.string(),
    provider_name: z.string(),
    provider_id: z.string().nullable(),
    installation: z.string(),
    phase: z.enum(RESOURCE_PHASES),
    reason: z.enum(ROW_REASONS).nullable().catch("unknown"),
    spec: jsonText(specShape),
    requested_at: z.int(),
    created_at: time,
    expires_at: z.int(),
    delete_requested_at: time,
    idle_since: time,
    missing_since: time,
    deleted_at: time,
    attempts: z.int(),
    next_try_at: time,
    last_error: z.string().nullable(),
  })
  .transform((row) => ({
    uid: row.uid,
    labelUid: row.label_uid,
    owner: row.owner,
    name: row.name,
    provider: row.provider,
    providerName: row.provider_name,
    providerId: row.provider_id,
    installation: row.installation,
    phase: row.phase,
    reason: row.reason,
    spec: row.spec,
    requestedAt: row.requested_at,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    deleteRequestedAt: row.delete_requested_at,
    idleSince: row.idle_since,
    missingSince: row.missing_since,
    deletedAt: row.deleted_at,
    attempts: row.attempts,
    nextTryAt: row.next_try_at,
    lastError: row.last_error,
  }));

/** One that is due, without what it was asked with: that of a firewall may be long, and many may be due. */
export interface DueResource extends Pick<
  ResourceRow,
  "uid" | "owner" | "name" | "providerId" | "deleteRequestedAt" | "idleSince"
> {
  readonly kind: ResourceKind;
}

export const DUE_COLUMNS = "uid, kind, owner, name, provider_id, delete_requested_at, idle_since";
export const dueResource: z.ZodType<DueResource> = z
  .object({
    uid: z.string(),
    kind: z.enum(RESOURCE_KINDS),
    owner: z.string(),
    name: z.string(),
    provider_id: z.string().nullable(),
    delete_requested_at: time,
    idle_since: time,
  })
  .transform(({ provider_id, delete_requested_at, idle_since, ...row }) => ({
    ...row,
    providerId: provider_id,
    deleteRequestedAt: delete_requested_at,
    idleSince: idle_since,
  }));

/** A spec as it is kept: keys in the schema's order, so that equal specs are equal text. */
export const specText = (spec: ResourceSpec): string => JSON.stringify(specShape.parse(spec));
