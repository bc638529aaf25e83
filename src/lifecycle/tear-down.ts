import type { Principal } from "../auth/principal.ts";
import type { MachineRow, ShownMachine } from "../machine/machine.ts";
import type { ResourceRow } from "../machine/resource.ts";
import { atMostFive } from "./at-most-five.ts";
import type { RequestContext } from "./context.ts";
import { deleteResource } from "./delete-resource.ts";
import { destroyTogether, DONE_AT_ONCE, NAMED } from "./destroy-many.ts";

/** What goes, in the order in which it goes; of many not all is named. */
export interface TearDown {
  readonly machines: readonly ShownMachine[];
  readonly resources: readonly ResourceRow[];
  /** What is seen to at once; the rest is the sweep's. */
  readonly work: Promise<unknown>;
}

/**
 * Takes down everything that an owner has: machines first, then firewalls, networks and keys (S52). The word is written down for
 * all of it at once, however much; the first of it is answered. A dry run answers the same, and changes nothing.
 */
export async function tearDown(
  context: RequestContext,
  { owner }: Pick<Principal, "owner">,
  dryRun: boolean,
): Promise<TearDown> {
  const { store, now } = context;
  const meant = { owner, labels: [] };
  if (dryRun) {
    const { rows } = await store.machines.list({ ...meant, statuses: [], page: 1, perPage: NAMED });
    return { machines: rows, resources: await store.resources.ofOwner(owner, NAMED), work: Promise.resolve() };
  }
  const machines = await store.endings.requestDestroyAll(meant, now(), NAMED);
  await store.endings.forbidReturns(meant, now());
  const resources = await store.resources.requestDeleteAll(owner, now(), NAMED);
  return { machines, resources, work: begin(context, machines, resources) };
}

async function begin(context: RequestContext, machines: readonly MachineRow[], resources: readonly ResourceRow[]) {
  await destroyTogether(context, machines.slice(0, DONE_AT_ONCE));
  if (resources.length === 0 || !(await context.withinRate()).ok) return;
  const room = Math.max(0, DONE_AT_ONCE - machines.length);
  await atMostFive(resources.slice(0, room), {
    begin: async (row) => () => deleteResource(context, row),
    tell: () => {},
  });
}
