import type { Principal } from "../auth/principal.ts";
import type { MachineRow } from "../machine/machine.ts";
import { RESOURCE_KINDS, type ResourceRow } from "../machine/resource.ts";
import type { RequestContext } from "./context.ts";
import { deleteResource } from "./delete-resource.ts";
import { destroyInTurn, DONE_AT_ONCE, MEANT_AT_ONCE } from "./destroy-many.ts";

export interface TearDown {
  readonly machines: readonly MachineRow[];
  readonly resources: readonly ResourceRow[];
  /** What is seen to at once; the rest is the sweep's. */
  readonly work: Promise<unknown>;
}

/**
 * Takes down everything that an owner has: machines first, then firewalls, networks and keys (S52). The word is written down for
 * all of it at once; a dry run names it and changes nothing.
 */
export async function tearDown(
  context: RequestContext,
  { owner }: Pick<Principal, "owner">,
  dryRun: boolean,
): Promise<TearDown> {
  const { store, now } = context;
  const filter = { owner, statuses: [], labels: [], page: 1, perPage: MEANT_AT_ONCE };
  const { rows: machines } = await store.machines.list(filter);
  const kinds = await Promise.all(RESOURCE_KINDS.map((kind) => store.resources.list(kind, owner, 1, MEANT_AT_ONCE)));
  const resources = kinds.flatMap(({ rows }) => rows);
  if (dryRun) return { machines, resources, work: Promise.resolve() };
  const uidsOf = (rows: readonly { uid: string }[]): string[] => rows.map(({ uid }) => uid);
  const doomed = await store.endings.requestDestroyAll(uidsOf(machines), now());
  await store.endings.forbidReturns(filter, now());
  const going = await store.resources.requestDelete(uidsOf(resources), now());
  const inOrder = going.toSorted((a, b) => orderOf(a) - orderOf(b));
  return { machines: doomed, resources: inOrder, work: begin(context, doomed, inOrder) };
}

async function begin(context: RequestContext, machines: readonly MachineRow[], resources: readonly ResourceRow[]) {
  await destroyInTurn(context, machines.slice(0, DONE_AT_ONCE));
  if (resources.length === 0 || !(await context.withinRate()).ok) return;
  const room = Math.max(0, DONE_AT_ONCE - machines.length);
  for (const row of resources.slice(0, room)) await deleteResource(context, row);
}

const orderOf = ({ spec }: ResourceRow): number => RESOURCE_KINDS.indexOf(spec.kind);
