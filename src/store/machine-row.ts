import * as z from "zod";
import { PHASES, STATUSES, type Attachments, type MachineRow } from "../machine/machine.ts";
import type { Rates } from "../machine/money.ts";
import { ROW_REASONS } from "../machine/reason.ts";
import { jsonText } from "./rows.ts";

const attachments: z.ZodType<Attachments> = z.object({
  firewallIds: z.array(z.string()),
  networkIds: z.array(z.string()),
});
const time = z.int().nullable();
const microEur = z.int().nullable();

/** The columns of what a machine is charged, from rates as the domain has them. */
export const rateColumns = (rates: Rates) => ({
  price_micro_eur: rates.priceMicroEur,
  price_month_micro_eur: rates.priceMonthMicroEur,
  ipv4_micro_eur: rates.ipv4MicroEur,
  ipv4_month_micro_eur: rates.ipv4MonthMicroEur,
});
/** Their names. */
export const RATE_COLUMNS = ["price_micro_eur", "price_month_micro_eur", "ipv4_micro_eur", "ipv4_month_micro_eur"];

/** Rates as the domain has them, from those columns. */
export const ratesIn = (row: ReturnType<typeof rateColumns>): Rates => ({
  priceMicroEur: row.price_micro_eur,
  priceMonthMicroEur: row.price_month_micro_eur,
  ipv4MicroEur: row.ipv4_micro_eur,
  ipv4MonthMicroEur: row.ipv4_month_micro_eur,
});

/** A row of `machines` as D1 returns it, in the domain's words. */
export const machineRow: z.ZodType<MachineRow> = z
  .object({
    uid: z.string(),
    label_uid: z.string().nullable(),
    owner: z.string(),
    account: z.string(),
    name: z.string(),
    provider: z.string(),
    provider_name: z.string(),
    provider_id: z.string().nullable(),
    installation: z.string(),
    credential: z.string(),
    phase: z.enum(PHASES),
    status: z.enum(STATUSES),
    reason: z.enum(ROW_REASONS).nullable().catch("unknown"),
    spec_sha256: z.string(),
    server_type: z.string(),
    region: z.string(),
    image: z.string(),
    arch: z.string(),
    // The one column whose inside SQLite does not check; a row must never become unreadable, and so undying, over it.
    labels: jsonText(z.record(z.string(), z.string())).catch({}),
    public_ipv4: z.string(),
    public_ipv6: z.string(),
    private_ipv4: z.string(),
    price_micro_eur: microEur,
    price_month_micro_eur: microEur,
    ipv4_micro_eur: microEur,
    ipv4_month_micro_eur: microEur,
    has_ipv4: z.int(),
    requested_at: z.int(),
    tried_at: time,
    created_at: time,
    expires_at: z.int(),
    max_until: z.int(),
    keep_on_failure_ms: time,
    label_expires_at: time,
    observed_at: time,
    attachments: jsonText(attachments).nullable().catch(null),
    missing_since: time,
    mismatched_since: time,
    destroy_requested_at: time,
    delete_accepted_at: time,
    destroyed_at: time,
    attempts: z.int(),
    next_try_at: time,
    last_error: z.string().nullable(),
  })
  .transform((row) => ({
    uid: row.uid,
    labelUid: row.label_uid,
    owner: row.owner,
    account: row.account,
    name: row.name,
    provider: row.provider,
    providerName: row.provider_name,
    providerId: row.provider_id,
    installation: row.installation,
    credential: row.credential,
    phase: row.phase,
    status: row.status,
    reason: row.reason,
    specSha256: row.spec_sha256,
    serverType: row.server_type,
    region: row.region,
    image: row.image,
    arch: row.arch,
    labels: row.labels,
    publicIpv4: row.public_ipv4,
    publicIpv6: row.public_ipv6,
    privateIpv4: row.private_ipv4,
    ...ratesIn(row),
    hasIpv4: row.has_ipv4 === 1,
    requestedAt: row.requested_at,
    triedAt: row.tried_at,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    maxUntil: row.max_until,
    keepOnFailureMs: row.keep_on_failure_ms,
    labelExpiresAt: row.label_expires_at,
    observedAt: row.observed_at,
    attachments: row.attachments,
    missingSince: row.missing_since,
    mismatchedSince: row.mismatched_since,
    destroyRequestedAt: row.destroy_requested_at,
    deleteAcceptedAt: row.delete_accepted_at,
    destroyedAt: row.destroyed_at,
    attempts: row.attempts,
    nextTryAt: row.next_try_at,
    lastError: row.last_error,
  }));
