/**
 * What an account may have and spend. The statements that act decide; here it is said what the limits are, and afterwards which of
 * them was met.
 */
import type { Principal } from "../auth/principal.ts";
import type { MachineRow } from "../machine/machine.ts";
import { costMicroEur, monthsBetween, reservedUntil } from "../machine/money.ts";
import type { Limits } from "../store/machine-limits.ts";
import type { LendingRules, RequestContext } from "./context.ts";
import { refused, type CountedMachine, type Figures, type Refused } from "./refusal.ts";

/** Whose limits hold: the caller's, for whomever it acts. */
export type Limited = Pick<Principal, "kind" | "policy">;

/** The account whose limits are held against, and by which policy. */
export interface CountedAccount extends Pick<Principal, "account" | "policy"> {
  /** The one owner whose machines a refusal may name; left out, all of the account's. */
  readonly onlyOwner?: string | null;
}

/** The account of a row. Whoever is of another one by now, under another policy, is told of none of its other owners. */
export const accountOfRow = (
  { kind, account, policy }: Pick<Principal, "kind" | "account" | "policy">,
  row: Pick<MachineRow, "account" | "owner">,
): CountedAccount => ({
  account: row.account,
  policy,
  onlyOwner: kind === "admin" || account === row.account ? null : row.owner,
});

/** What a policy lets its callers' accounts have, as it says or as it is said for all; an admin's is bound by the installation alone. */
export const mostOf = (
  { kind, policy }: Limited,
  { maxMachines, maxMicroEurPerMonth }: Pick<LendingRules, "maxMachines" | "maxMicroEurPerMonth">,
) =>
  kind === "admin"
    ? { machines: null, microEurPerHour: null, microEurPerMonth: null }
    : {
        machines: policy.mostMachines ?? maxMachines,
        microEurPerHour: policy.mostMicroEurPerHour,
        microEurPerMonth: policy.mostMicroEurPerMonth ?? maxMicroEurPerMonth,
      };

/** What a lease that ends at `expiresAt` is held against, at `now`; both unix milliseconds. */
export function limitsOf(
  limited: Limited,
  rules: LendingRules,
  { now, expiresAt }: { readonly now: number; readonly expiresAt: number },
): Limits {
  const { machines, microEurPerHour, microEurPerMonth: account } = mostOf(limited, rules);
  const { maxMachines, maxMicroEurPerMonth: installation } = rules;
  const isLimited = account !== null || installation !== null;
  const touched = isLimited ? monthsBetween(now, reservedUntil(expiresAt, now)) : [];
  return {
    machines: { account: machines, installation: maxMachines },
    microEurPerHour,
    months: touched.map(({ month, begins, ends }) => ({ month, begins, ends, now, account, installation })),
  };
}

/** Whether limits are about money at all: then what something costs must be known. */
export const limitMoney = ({ microEurPerHour, months }: Limits): boolean =>
  microEurPerHour !== null || months.length > 0;

/** Why one machine more would be too many, told with those that the account has; null where it would not. */
export async function beyondCount(
  context: Pick<RequestContext, "store" | "now">,
  of: CountedAccount,
  { machines }: Pick<Limits, "machines">,
): Promise<Refused | null> {
  const { account } = of;
  const used = await context.store.limits.count(account);
  const isOwn = machines.account !== null && used.account >= machines.account;
  if (!isOwn && used.installation < machines.installation) return null;
  const figures = isOwn
    ? { limit: machines.account ?? 0, used: used.account, asked: 1 }
    : { limit: machines.installation, used: used.installation, asked: 1 };
  return beyond(context, of, {
    code: "limit_count",
    message: `There may be ${figures.limit} machines of ${whose(account, isOwn)} at once, and there are ${figures.used}.`,
    next: isOwn
      ? "Destroy one of `machines`, or repeat the call when one has ended."
      : "Repeat the call when machines have ended, or have an admin raise the limit.",
    ...(isOwn ? { nextWithNone: "Have an admin raise the limit." } : {}),
    rule: isOwn
      ? "must not have more machines than the policy allows (machines)"
      : "must not be more machines in all than there may be (MAX_MACHINES)",
    figures,
  });
}

/** A refusal by a limit, before it names what the account has. */
interface Beyond {
  readonly code: "limit_count" | "limit_money";
  readonly message: string;
  readonly next: string;
  /** The same for an account that has no machine which could make room. */
  readonly nextWithNone?: string;
  readonly rule: string;
  readonly figures?: Figures;
  readonly about?: "price";
}

/** A refusal that names the account's live machines. */
export async function beyond(
  { store, now }: Pick<RequestContext, "store" | "now">,
  { account, policy, onlyOwner = null }: CountedAccount,
  { nextWithNone, ...refusal }: Beyond,
): Promise<Refused> {
  const machines = (await store.limits.ofAccount(account, onlyOwner)).map((row) => countedMachine(row, now()));
  const next = machines.length === 0 ? (nextWithNone ?? refusal.next) : refusal.next;
  return refused({ ...refusal, policy: policy.name, next, machines, retryAfterSeconds: RETRY_SECONDS });
}

export const whose = (account: string, isOwn: boolean): string =>
  isOwn ? `the account ${account}` : "all accounts together";

const countedMachine = (row: MachineRow, now: number): CountedMachine => ({
  name: row.name,
  owner: row.owner,
  expiresAt: row.expiresAt,
  costMicroEur: costMicroEur(row, now),
});

/** Machines end by the minute. */
const RETRY_SECONDS = 60;
