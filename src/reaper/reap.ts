import { DriverError, type Driver } from "../driver/driver.ts";
import type { FailedReap } from "../store/reap-failures.ts";
import { backOffMs } from "../lifecycle/back-off.ts";
import { LABEL } from "../machine/labels.ts";
import { ourSelector } from "../machine/ownership.ts";
import { failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { guard, type GuardedDriver } from "./guarded-driver.ts";
import { inPace } from "./in-pace.ts";
import { isProvenGone } from "./look.ts";
import { followUnproven, tellUnrecorded, type Gone } from "./unrecorded.ts";
import { reapOlderThan, type Reaped } from "./reap-older-than.ts";
import { namesOf, type Item, type SweepReason } from "./report.ts";

/**
 * Destroys every machine of ours that is older than `MAX_AGE` and was promised no longer life, whether or not D1 knows of
 * it. When the list fails midway, what it had read is judged all the same: being present and too old is proof enough (I4).
 * What cannot be destroyed backs off, so that it cannot starve what is younger.
 */
export async function reap(context: PhaseContext): Promise<string | null> {
  const { rules, store, pace, items } = context;
  const now = context.now();
  const driver = guard(context);
  const order = {
    selector: ourSelector(rules.installations),
    createdLabel: LABEL.created,
    maxAgeMs: rules.maxAgeMs,
    now,
    admit: driver.admit,
  };
  const run = (over: Driver) => reapOlderThan(over, order);

  let failure: string | null = null;
  let reaped: Reaped;
  try {
    reaped = await run(driver);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    failure = error.message;
    const partial = error.partial ?? [];
    reaped = await run({ ...driver, list: () => driver.know(partial) });
  }

  for (const fate of driver.fates.values()) if (fate !== null && "item" in fate) items.push(fate.item);
  const tell = teller(context, driver);
  const failed = reaped.errors.map(({ providerId, error }) => {
    const { reason, detail } = failureOf(error);
    const attempts = attemptsOn(driver, providerId) + 1;
    tell(providerId, needsSomebody(error) ? "alert" : "error", reason, detail);
    return { providerId, error: detail, attempts, nextTryAt: now + backOffMs(attempts) };
  });
  const { agreed, proven, unproven } = await prove(context, driver, tell);
  for (const providerId of reaped.remaining) tell(providerId, "remaining", driver.stopped ?? "budget");
  for (const providerId of reaped.unknownAge) tell(providerId, "unknown_age", "unknown_age");
  const isOpen = (providerId: string) => agreed.some((one) => one.providerId === providerId);
  const gone = reaped.destroyed.filter((providerId) => attemptsOn(driver, providerId) > 0 && !isOpen(providerId));
  await tellUnrecorded(context, proven);
  await followUnproven(context, unproven);
  await store.reapFailures.record([...failed, ...agreed], gone);
  return failure ?? pace.refusal;
}

type Tell = (providerId: string, outcome: Item["outcome"], reason: SweepReason, detail?: string | null) => void;

const teller =
  ({ items }: PhaseContext, { known }: GuardedDriver): Tell =>
  (providerId, outcome, reason, detail = null) => {
    const { row = null, machine } = known.get(providerId) ?? {};
    items.push({ ...namesOf(row, machine?.labels), providerId, outcome, reason, detail });
  };

const attemptsOn = ({ known }: GuardedDriver, providerId: string): number => known.get(providerId)?.attempts ?? 0;

/** Looks once more at what the provider agreed to delete. Deletes come before proofs: a look costs what others may need to die. */
async function prove(
  context: PhaseContext,
  driver: GuardedDriver,
  tell: Tell,
): Promise<{
  readonly agreed: readonly FailedReap[];
  readonly proven: readonly Gone[];
  readonly unproven: readonly Gone[];
}> {
  const now = context.now();
  const agreed: FailedReap[] = [];
  const proven: Gone[] = [];
  const unproven: Gone[] = [];
  const accepted = [...driver.fates].flatMap(([providerId, fate]) =>
    fate !== null && "accepted" in fate ? [{ providerId, reason: fate.accepted }] : [],
  );
  await inPace(context.pace, accepted, {
    costOf: () => ({ fetches: 1, statements: 0 }),
    rest: () => ({ fetches: 0, statements: 2 }),
    act: ({ providerId }) => isProvenGone(context, providerId),
    stopped: () => false,
    tell({ providerId, reason }, isProven) {
      const { machine, row } = driver.known.get(providerId) ?? {};
      if (machine !== undefined && row !== undefined) (isProven ? proven : unproven).push({ machine, row, reason });
      if (isProven) {
        tell(providerId, "destroyed", reason);
        return;
      }
      // It is to go by itself, and is left alone for a while; what is there all the same did not do what was agreed to.
      const attempts = attemptsOn(driver, providerId) + 1;
      if (attempts <= PATIENCE) tell(providerId, "accepted", reason);
      else tell(providerId, "alert", "delete_failed");
      agreed.push({ providerId, error: "delete_failed", attempts, nextTryAt: now + backOffMs(attempts - 1) });
    },
  });
  return { agreed, proven, unproven };
}

/** So many agreements may come to nothing before somebody should look. */
const PATIENCE = 3;
