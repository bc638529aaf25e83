import { destroySeen } from "../driver/destroy-seen.ts";
import { DriverError, isNotFound, type Driver, type ListOptions } from "../driver/driver.ts";
import { decideBlind } from "../machine/decide.ts";
import type { Machine } from "../machine/machine.ts";
import { ourSelector, selectorOf } from "../machine/ownership.ts";
import type { Rules } from "../machine/rules.ts";
import { concernsAll, failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { isProvenGone } from "./look.ts";
import { namesOf, type Item } from "./report.ts";

/** Nothing younger can be overdue by its label. */
const YOUNGEST_MS = 3_600_000;

/**
 * What is left to do when D1 refuses: destroys what is past `MAX_AGE`, and what is an hour past the end that its label tells,
 * each after a fresh read. An owner's renewal is on the label within moments, so an hour is patience enough; and nothing that
 * a row might still protect longer is touched before.
 */
export async function reapBlind(context: BlindContext): Promise<string | null> {
  const { driver, rules, pace, now, items } = context;
  const at = now();
  const options = { olderThan: at - YOUNGEST_MS, enough: pace.listed, maxPages: pace.pages, goOn: pace.mayList };
  const { machines, failure } = await listOld(driver, rules, options);
  const due = machines.filter((machine) => decideBlind(machine, at, rules).act === "destroy");
  await inPace(pace, due, {
    costOf: () => ({ fetches: 3, statements: 0 }),
    rest: () => ({ fetches: 0, statements: 0 }),
    act: ({ providerId }) => destroyOverdue(context, providerId, at),
    stopped: (_machine, stop): Came => ({ outcome: "remaining", reason: stop, detail: null }),
    tell: ({ labels, providerId }, came) => void items.push({ ...namesOf(null, labels), providerId, ...came }),
  });
  return failure ?? pace.refusal;
}

type BlindContext = Pick<PhaseContext, "driver" | "rules" | "now" | "pace" | "items">;
type Came = Pick<Item, "outcome" | "reason" | "detail">;

async function destroyOverdue({ driver, rules, pace }: BlindContext, providerId: string, at: number): Promise<Came> {
  try {
    const seen = await driver.get(providerId);
    const { act, reason } = decideBlind(seen, at, rules);
    if (act !== "destroy") return { outcome: "kept", reason, detail: null };
    await destroySeen(driver, seen, selectorOf(null, rules));
    const isProven = await isProvenGone({ driver, pace }, providerId);
    return { outcome: isProven ? "destroyed" : "accepted", reason, detail: null };
  } catch (error) {
    const failure = failureOf(error);
    if (concernsAll(error)) pace.refuse(failure.detail);
    if (isNotFound(error)) return { outcome: "destroyed", reason: "gone", detail: null };
    return { outcome: needsSomebody(error) ? "alert" : "error", ...failure };
  }
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
