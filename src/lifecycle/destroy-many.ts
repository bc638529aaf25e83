import type { Principal } from "../auth/principal.ts";
import type { MachineRow, ShownMachine } from "../machine/machine.ts";
import type { SelectorTerm } from "../machine/selector.ts";
import { atMostFive } from "./at-most-five.ts";
import type { RequestContext } from "./context.ts";
import { destroyMachine } from "./destroy.ts";
import { breaksRule, done, type Outcome } from "./refusal.ts";

/** As many of those that go are named in the answer. */
export const NAMED = 500;
/** As many as one invocation can also see to within a free plan's fifty statements; the sweep does the others. */
export const DONE_AT_ONCE = 5;

/** Machines that were told to go. */
export interface Doomed {
  /** The oldest; of many not all. */
  readonly rows: readonly ShownMachine[];
  /** The first few are seen to at once; the rest is the sweep's. */
  readonly work: Promise<unknown>;
}

/** Which machines are told to go. */
export interface Doom {
  readonly labels: readonly SelectorTerm[];
  /** Only those that are at least so old; left out, of any age. Of one that the provider has not shown the age is unknown, which is not old. */
  readonly olderThanMs?: number | undefined;
  readonly dryRun: boolean;
}

/**
 * Destroys one owner's machines that carry these labels, at least one of which must be named. The word is written down for all of
 * them at once, however many; the first of them are answered. A dry run answers the same, and changes nothing.
 */
export async function destroyMany(
  context: RequestContext,
  { owner }: Principal,
  { labels, olderThanMs, dryRun }: Doom,
): Promise<Outcome<Doomed>> {
  const { machines, endings } = context.store;
  if (!labels.some(isNaming))
    return breaksRule({
      field: "label_selector",
      rule: "must name at least one label that they have: what is to be destroyed?",
    });
  const createdBy = olderThanMs === undefined ? undefined : context.now() - olderThanMs;
  const meant = { owner, labels, createdBy };
  if (dryRun) {
    const { rows } = await machines.list({ ...meant, statuses: [], page: 1, perPage: NAMED });
    return done({ rows, work: Promise.resolve() });
  }
  const marked = await endings.requestDestroyAll(meant, context.now(), NAMED);
  await endings.forbidReturns(meant, context.now());
  return done({ rows: marked, work: destroyTogether(context, marked.slice(0, DONE_AT_ONCE)) });
}

/** `run=` and `run!=` are what an empty variable leaves, and would mean machines that nobody meant. */
const isNaming = (term: SelectorTerm): boolean =>
  term.test === "exists" || (term.test === "in" && term.values.every((value) => value !== ""));

/** Destroys these, on their owner's word; over the rate the sweep does. */
export async function destroyTogether(context: RequestContext, rows: readonly MachineRow[]): Promise<void> {
  if (rows.length === 0 || !(await context.withinRate()).ok) return;
  await atMostFive(rows, { begin: async (row) => () => destroyMachine(context, row), tell: () => {} });
}
