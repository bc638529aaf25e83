import { DriverError, isNotFound } from "../driver/driver.ts";
import { decideBlind } from "../machine/decide.ts";
import { ourSelector } from "../machine/ownership.ts";
import type { Machine } from "../machine/machine.ts";
import { concernsAll, messageOf, needsSomebody, type PhaseContext } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

/** Nothing younger can be overdue by its label. */
const YOUNGEST_MS = 3_600_000;

/**
 * What is left to do when D1 refuses: destroys what is past `MAX_AGE`, and what is an hour past the end that its label tells,
 * each after a fresh read. An owner's renewal is on the label within moments, so an hour is patience enough; and nothing that
 * a row might still protect longer is touched before.
 */
export async function reapBlind(
  deps: Pick<PhaseContext, "driver" | "rules" | "now" | "budget">,
): Promise<Omit<PhaseReport, "phase">> {
  const { driver, rules, budget } = deps;
  const now = deps.now();
  const items: Item[] = [];
  let failure: string | null = null;
  let machines: readonly Machine[] = [];
  try {
    machines = await driver.list(ourSelector(rules.installations), {
      olderThan: now - YOUNGEST_MS,
      enough: budget.listed,
    });
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    failure = error.message;
    machines = error.partial ?? [];
  }
  for (const { providerId, ...listed } of machines) {
    if (decideBlind({ providerId, ...listed }, now, rules).act !== "destroy") continue;
    const tell = (outcome: Item["outcome"], reason: string) => items.push({ uid: null, providerId, outcome, reason });
    if (failure !== null && items.some(({ outcome }) => outcome === "alert")) break;
    if (!budget.allows({ fetches: 2, statements: 0 })) {
      tell("remaining", "budget");
      continue;
    }
    try {
      const verdict = decideBlind(await driver.get(providerId), now, rules);
      if (verdict.act === "destroy") await driver.destroy(providerId);
      tell(verdict.act === "destroy" ? "destroyed" : "kept", verdict.reason);
    } catch (error) {
      if (isNotFound(error)) tell("destroyed", "gone");
      else tell(needsSomebody(error) ? "alert" : "error", messageOf(error));
      if (concernsAll(error)) failure ??= error.message;
    }
  }
  return { items, failure };
}
