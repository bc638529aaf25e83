/** How many machines an account may have at once. The insert decides; here it is said what the limits are, and what was met. */
import type { Policy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { MachineRow } from "../machine/machine.ts";
import { costMicroEur } from "../machine/money.ts";
import type { CountLimits } from "../store/machine-limits.ts";
import type { LendingRules, RequestContext } from "./context.ts";
import { refused, type CountedMachine, type Refused } from "./refusal.ts";

/** What a caller's machines are held against; an admin's, against the limit of the installation alone. */
export const countLimitsOf = (
  { kind, policy }: { readonly kind: Principal["kind"]; readonly policy: Policy },
  { maxMachines }: Pick<LendingRules, "maxMachines">,
): CountLimits => ({
  account: kind === "admin" ? null : (policy.mostMachines ?? maxMachines),
  installation: maxMachines,
});

/** Why one machine more would be too many, told with those that the account has; null where it would not. */
export async function beyondCount(
  { store, now }: Pick<RequestContext, "store" | "now">,
  { account, policy }: Pick<Principal, "account" | "policy">,
  limits: CountLimits,
): Promise<Refused | null> {
  const used = await store.limits.count(account);
  const isOwn = limits.account !== null && used.account >= limits.account;
  if (!isOwn && used.installation < limits.installation) return null;
  const figures = isOwn
    ? { limit: limits.account ?? 0, used: used.account, asked: 1 }
    : { limit: limits.installation, used: used.installation, asked: 1 };
  const whose = isOwn ? `the account ${account}` : "all accounts together";
  return refused({
    code: "limit_count",
    message: `There may be ${figures.limit} machines of ${whose} at once, and there are ${figures.used}.`,
    next: isOwn
      ? "Destroy one of `machines`, or repeat the call when one has ended."
      : "Repeat the call when machines have ended, or have an admin raise the limit.",
    rule: isOwn
      ? "must not have more machines than the policy allows (machines)"
      : "must not be more machines in all than there may be",
    policy: policy.name,
    figures,
    machines: (await store.limits.ofAccount(account)).map((row) => countedMachine(row, now())),
    retryAfterSeconds: RETRY_SECONDS,
  });
}

const countedMachine = (row: MachineRow, now: number): CountedMachine => ({
  name: row.name,
  owner: row.owner,
  expiresAt: row.expiresAt,
  costMicroEur: costMicroEur(row, now),
});

/** Machines end by the minute. */
const RETRY_SECONDS = 60;
