import { PHASES, STATUSES, type Attachments, type MachineRow, type ShownMachine } from "../machine/machine.ts";
import type { Rates } from "../machine/money.ts";
import {
  intOf,
  intOrNull,
  isListOfTexts,
  isRow,
  jsonOf,
  oneOf,
  reasonOf,
  textOf,
  textOrNull,
  textsOf,
  type Reader,
  type Row,
} from "./columns.ts";

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
export const ratesIn: Reader<Rates> = (row) => ({
  priceMicroEur: intOrNull(row, "price_micro_eur"),
  priceMonthMicroEur: intOrNull(row, "price_month_micro_eur"),
  ipv4MicroEur: intOrNull(row, "ipv4_micro_eur"),
  ipv4MonthMicroEur: intOrNull(row, "ipv4_month_micro_eur"),
});

/** What a machine was ordered with; null where nobody knows, or it cannot be read. */
function attachmentsIn(row: Row): Attachments | null {
  const kept = jsonOf(row, "attachments");
  if (!isRow(kept)) return null;
  const { firewallIds, networkIds } = kept;
  return isListOfTexts(firewallIds) && isListOfTexts(networkIds) ? { firewallIds, networkIds } : null;
}

/** What its owner is shown of it. */
export const shownMachine: Reader<ShownMachine> = (row) => ({
  uid: textOf(row, "uid"),
  owner: textOf(row, "owner"),
  account: textOf(row, "account"),
  name: textOf(row, "name"),
  provider: textOf(row, "provider"),
  providerId: textOrNull(row, "provider_id"),
  providerName: textOf(row, "provider_name"),
  phase: oneOf(row, "phase", PHASES),
  status: oneOf(row, "status", STATUSES),
  reason: reasonOf(row),
  serverType: textOf(row, "server_type"),
  region: textOf(row, "region"),
  image: textOf(row, "image"),
  arch: textOf(row, "arch"),
  // The one column whose inside SQLite does not check; a row must never become unreadable, and so undying, over it.
  labels: textsOf(row, "labels") ?? {},
  publicIpv4: textOf(row, "public_ipv4"),
  publicIpv6: textOf(row, "public_ipv6"),
  privateIpv4: textOf(row, "private_ipv4"),
  ...ratesIn(row),
  hasIpv4: intOf(row, "has_ipv4") === 1,
  requestedAt: intOf(row, "requested_at"),
  createdAt: intOrNull(row, "created_at"),
  expiresAt: intOf(row, "expires_at"),
  maxUntil: intOf(row, "max_until"),
  observedAt: intOrNull(row, "observed_at"),
  destroyedAt: intOrNull(row, "destroyed_at"),
  nextTryAt: intOrNull(row, "next_try_at"),
});
/** The columns that this reads: a page of lists is mostly the time that its columns take. */
export const SHOWN_COLUMNS = [
  "uid",
  "owner",
  "account",
  "name",
  "provider",
  "provider_id",
  "provider_name",
  "phase",
  "status",
  "server_type",
  "region",
  "image",
  "arch",
  "labels",
  "public_ipv4",
  "public_ipv6",
  "private_ipv4",
  "has_ipv4",
  "requested_at",
  "created_at",
  "expires_at",
  "max_until",
  "observed_at",
  "destroyed_at",
  "next_try_at",
  "reason",
  ...RATE_COLUMNS,
].join(", ");

/** A row of `machines` as D1 returns it, in the domain's words. */
export const machineRow: Reader<MachineRow> = (row) => ({
  ...shownMachine(row),
  labelUid: textOrNull(row, "label_uid"),
  installation: textOf(row, "installation"),
  credential: textOf(row, "credential"),
  specSha256: textOf(row, "spec_sha256"),
  specFields: textsOf(row, "spec_fields"),
  triedAt: intOrNull(row, "tried_at"),
  keepOnFailureMs: intOrNull(row, "keep_on_failure_ms"),
  labelExpiresAt: intOrNull(row, "label_expires_at"),
  attachments: attachmentsIn(row),
  missingSince: intOrNull(row, "missing_since"),
  mismatchedSince: intOrNull(row, "mismatched_since"),
  destroyRequestedAt: intOrNull(row, "destroy_requested_at"),
  deleteAcceptedAt: intOrNull(row, "delete_accepted_at"),
  attempts: intOf(row, "attempts"),
  lastError: textOrNull(row, "last_error"),
});
