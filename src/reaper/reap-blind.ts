import { destroySeen } from "../driver/destroy-seen.ts";
import { DriverError, isNotFound, type Driver, type ListOptions } from "../driver/driver.ts";
import { decideBlind } from "../machine/decide.ts";
import type { Machine } from "../machine/machine.ts";
import { ourSelector, selectorOf } from "../machine/ownership.ts";
import type { Rules } from "../machine/rules.ts";
import { concernsAll, failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { isProvenGone } from "./look.ts";
import { namesOf, type Item, type SweepReason } from "./report.ts";

/** Nothing younger can be overdue by its label. */
const YOUNGEST_MS = 3_600_000;

/**
 * What is left to do when D1 refuses: destroys what is past `MAX_AGE`, and what is an hour past the end that its label tells,
 * each after a fresh read. An owner's renewal is on the label within moments, so an hour is patience enough; and nothing that
 * a row might still protect longer is touched before.
 */
export async function reapBlind({
  driver,
  rules,
  pace,
  now,
  items,
}: Pick<PhaseContext, "driver" | "rules" | "now" | "pace" | "items">): Promise<string | null> {
  const at = now();
  const options = { olderThan: at - YOUNGEST_MS, enough: pace.listed, maxPages: pace.pages, goOn: pace.mayList };
  const { machines, failure } = await listOld(driver, rules, options);
  for (const machine of machines) {
    if (decideBlind(machine, at, rules).act !== "destroy") continue;
    const { providerId } = machine;
    const tell = (outcome: Item["outcome"], reason: SweepReason, detail: string | null = null) =>
      items.push({ ...namesOf(null, machine.labels), providerId, outcome, reason, detail });
    const stop = await pace.stop({ fetches: 3, statements: 0 });
    if (stop !== null) {
      tell("remaining", stop);
      continue;
    }
    try {
      const seen = await driver.get(providerId);
      const verdict = decideBlind(seen, at, rules);
      if (verdict.act === "destroy") await destroySeen(driver, seen, selectorOf(null, rules));
      const isProven = verdict.act === "destroy" && (await isProvenGone({ driver, pace }, providerId));
      if (verdict.act === "destroy") tell(isProven ? "destroyed" : "accepted", verdict.reason);
      else tell("kept", verdict.reason);
    } catch (error) {
      const { reason, detail } = failureOf(error);
      if (isNotFound(error)) tell("destroyed", "gone");
      else tell(needsSomebody(error) ? "alert" : "error", reason, detail);
      if (concernsAll(error)) pace.refuse(detail);
    }
  }
  return failure ?? pace.refusal;
}

/** What was read before a list failed is there all the same. */
async function listOld(
  driver: Driver,
  { installations }: Rules,
  options: ListOptions,
): Promise<{ machines: readonly Machine[]; failure: string | null }> {
  try {
    return { machines: await driver.list(ourSelector(installations), options), failure: null };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { machines: error.partial ?? [], failure: error.message };
  }
}
