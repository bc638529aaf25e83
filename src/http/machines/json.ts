import * as z from "zod";
import { isUnsent } from "../../lifecycle/refresh.ts";
import type { Observed } from "../../lifecycle/looks.ts";
import { STATUSES, type ShownMachine } from "../../machine/machine.ts";
import { baseOf } from "../../machine/ipv6.ts";
import { costMicroEur, hourMicroEur, toEur } from "../../machine/money.ts";
import { idOf } from "../../machine/name.ts";
import { pagination } from "../edge/schemas.ts";
import { timeOf, timeOrNull } from "../edge/times.ts";

const time = z.iso.datetime().nullable();

/** A machine as the API shows it. Addresses that are not there are `""`; what is unknown is null. */
export const machineJson = z
  .object({
    id: z.string(),
    name: z.string(),
    owner: z.string(),
    account: z.string(),
    status: z.enum(STATUSES),
    reason: z.string().nullable(),
    provider: z.string(),
    provider_id: z.string().nullable(),
    provider_name: z.string().meta({ description: "its name at the provider, unique in the project" }),
    server_type: z.string(),
    region: z.string(),
    arch: z.string(),
    image: z.string(),
    public_ipv4: z.string(),
    public_ipv6: z.string().meta({ description: "the base address of the machine's /64" }),
    ipv6: z.string().meta({ description: "the address that the machine answers on" }),
    private_ipv4: z.string(),
    labels: z.record(z.string(), z.string()),
    created_at: time,
    expires_at: z.iso.datetime(),
    max_until: z.iso.datetime(),
    observed_at: time,
    observed: z
      .enum(["not_found", "identity_mismatch"])
      .optional()
      .meta({ description: "only where the last look did not show it: nothing at its id, or another machine" }),
    destroyed_at: time,
    price_eur_per_hour: z
      .number()
      .nullable()
      .meta({ description: "gross, as ordered, its IPv4 address included; null = unknown, never free" }),
    cost_eur: z
      .number()
      .nullable()
      .meta({ description: "so far: started hours since created_at, of a calendar month (UTC) its price at most" }),
    unsent: z
      .literal(true)
      .optional()
      .meta({ description: "only while it is `creating`, not seen at the provider, and nobody is making it" }),
    next: z.string().optional().meta({ description: "what to do about that" }),
  })
  .meta({ id: "Machine" });

/** Answers about one machine, and about a page of them. */
export const one = z.object({ machine: machineJson });
export const many = z.object({ machines: z.array(machineJson), meta: z.object({ pagination }) });

/** Shows a row at `now`, and what the last look at its machine showed. */
export function toJson(row: ShownMachine, now: number, observed: Observed | null = null): z.infer<typeof machineJson> {
  const publicIpv6 = baseOf(row.publicIpv6);
  return {
    id: idOf(row.uid),
    name: row.name,
    owner: row.owner,
    account: row.account,
    status: row.status,
    reason: row.reason,
    provider: row.provider,
    provider_id: row.providerId,
    provider_name: row.providerName,
    server_type: row.serverType,
    region: row.region,
    arch: row.arch,
    image: row.image,
    public_ipv4: row.publicIpv4,
    public_ipv6: publicIpv6,
    ipv6: hostAddress(publicIpv6),
    private_ipv4: row.privateIpv4,
    labels: row.labels,
    created_at: timeOrNull(row.createdAt),
    expires_at: timeOf(row.expiresAt),
    max_until: timeOf(row.maxUntil),
    observed_at: timeOrNull(row.observedAt),
    destroyed_at: timeOrNull(row.destroyedAt),
    price_eur_per_hour: toEur(hourMicroEur(row)),
    cost_eur: toEur(costMicroEur(row, now)),
    ...(isUnsent(row, now) ? { unsent: true as const, next: UNSENT } : {}),
    ...(observed === null || observed === "seen" ? {} : { observed, next: NEXT[observed] }),
  };
}

const NEXT = {
  not_found:
    "The provider has no machine of this id. DELETE it and create it anew; else it is ended as `lost`, once sweeps do not find it either.",
  identity_mismatch: "Another machine stands at this id, which is left alone. Have an admin compare the two.",
};

const UNSENT = "Repeat the PUT with the same body: the call that began it was cut off, and it cannot be doubled.";

/** The first address of a /64, which a machine configures for itself (S58): base `2001:db8::` is `2001:db8::1`. */
const hostAddress = (base: string): string => (base.endsWith("::") ? `${base}1` : base);
