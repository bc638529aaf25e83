import type { MachineRow } from "../machine/machine.ts";
import type { SelectorTerm } from "../machine/selector.ts";
import { destroyMachine } from "./destroy.ts";
import type { RequestContext } from "./context.ts";

/** As many as one call may mean; a further call means the rest. */
const MOST = 500;
/** As many as one invocation can also see to within a free plan's fifty statements; the sweep does the others. */
const AT_ONCE = 5;

/**
 * Destroys one owner's machines that carry these labels. The word is written down for all of them at once; `work` sees to the
 * first few, and the sweep to the rest. A dry run names them and changes nothing.
 */
export async function destroyMany(
  deps: RequestContext,
  order: { owner: string; labels: readonly SelectorTerm[]; dryRun: boolean; requestId: string },
): Promise<{ rows: readonly MachineRow[]; work: Promise<unknown> }> {
  const { machines, endings } = deps.store;
  const filter = { owner: order.owner, statuses: [], labels: order.labels, page: 1, perPage: MOST };
  const { rows } = await machines.list(filter);
  if (order.dryRun) return { rows, work: Promise.resolve() };
  const marked = await endings.requestDestroyAll(
    rows.map(({ uid }) => uid),
    deps.now(),
    order.requestId,
  );
  return { rows: marked, work: destroyInTurn(deps, marked.slice(0, AT_ONCE), order.requestId) };
}

/** Destroys these one after the other, on their owner's word. */
export async function destroyInTurn(
  deps: RequestContext,
  rows: readonly MachineRow[],
  requestId: string,
): Promise<void> {
  for (const row of rows) await destroyMachine({ ...deps, requestId }, row);
}
