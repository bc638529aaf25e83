import * as z from "zod";
import { PROTOCOLS } from "../machine/firewall.ts";
import { canonicalRange } from "../machine/ip-range.ts";
import {
  RESOURCE_KINDS,
  RESOURCE_PHASES,
  type ResourceKind,
  type ResourceRow,
  type ResourceSpec,
} from "../machine/resource.ts";
import { intOf, intOrNull, jsonAs, oneOf, reasonOf, textOf, textOrNull, textsOf, type Reader } from "./columns.ts";

const rule = z.object({
  direction: z.enum(["in", "out"]),
  protocol: z.enum(PROTOCOLS),
  port: z.string().nullable(),
  // Rows from before there was one spelling have that of their callers.
  ranges: z.array(z.string().transform(canonicalRange)),
  description: z.string().optional(),
});
const specShape: z.ZodType<ResourceSpec> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("firewall"), rules: z.array(rule), denyAll: z.boolean() }),
  z.object({ kind: z.literal("network"), ipRange: z.string(), region: z.string() }),
  z.object({ kind: z.literal("ssh_key"), publicKey: z.string() }),
]);

/** A row of `resources` as D1 returns it, in the domain's words. */
export const resourceRow: Reader<ResourceRow> = (row) => ({
  uid: textOf(row, "uid"),
  labelUid: textOrNull(row, "label_uid"),
  owner: textOf(row, "owner"),
  name: textOf(row, "name"),
  provider: textOf(row, "provider"),
  providerName: textOf(row, "provider_name"),
  providerId: textOrNull(row, "provider_id"),
  installation: textOf(row, "installation"),
  phase: oneOf(row, "phase", RESOURCE_PHASES),
  reason: reasonOf(row),
  spec: jsonAs(row, "spec", specShape),
  labels: textsOf(row, "labels") ?? {},
  requestedAt: intOf(row, "requested_at"),
  createdAt: intOrNull(row, "created_at"),
  expiresAt: intOf(row, "expires_at"),
  deleteRequestedAt: intOrNull(row, "delete_requested_at"),
  idleSince: intOrNull(row, "idle_since"),
  missingSince: intOrNull(row, "missing_since"),
  deletedAt: intOrNull(row, "deleted_at"),
  attempts: intOf(row, "attempts"),
  nextTryAt: intOrNull(row, "next_try_at"),
  lastError: textOrNull(row, "last_error"),
});

/** One that is due, without what it was asked with: that of a firewall may be long, and many may be due. */
export interface DueResource extends Pick<
  ResourceRow,
  "uid" | "owner" | "name" | "providerId" | "deleteRequestedAt" | "idleSince"
> {
  readonly kind: ResourceKind;
}

export const DUE_COLUMNS = "uid, kind, owner, name, provider_id, delete_requested_at, idle_since";
export const dueResource: Reader<DueResource> = (row) => ({
  uid: textOf(row, "uid"),
  kind: oneOf(row, "kind", RESOURCE_KINDS),
  owner: textOf(row, "owner"),
  name: textOf(row, "name"),
  providerId: textOrNull(row, "provider_id"),
  deleteRequestedAt: intOrNull(row, "delete_requested_at"),
  idleSince: intOrNull(row, "idle_since"),
});

/** A spec as it is kept: keys in the schema's order, so that equal specs are equal text. */
export const specText = (spec: ResourceSpec): string => JSON.stringify(specShape.parse(spec));
