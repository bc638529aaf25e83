import type { MachineRow } from "../machine/machine.ts";
import { RESOURCE_KINDS, type ResourceRow } from "../machine/resource.ts";
import { deleteResource } from "./delete-resource.ts";
import { destroyInTurn } from "./destroy-many.ts";
import type { RequestContext } from "./context.ts";

/** As many of each kind as one call may mean; a further call means the rest. */
const MOST = 500;
/** As many as one invocation can also see to within a free plan's fifty statements; the sweep does the others. */
const AT_ONCE = 5;

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
  deps: RequestContext,
  { owner, dryRun, requestId }: { owner: string; dryRun: boolean; requestId: string },
): Promise<TearDown> {
  const { store, now } = deps;
  const filter = { owner, statuses: [], labels: [], page: 1, perPage: MOST };
  const { rows: machines } = await store.machines.list(filter);
  const kinds = await Promise.all(RESOURCE_KINDS.map((kind) => store.resources.list(kind, owner, 1, MOST)));
  const resources = kinds.flatMap(({ rows }) => rows);
  if (dryRun) return { machines, resources, work: Promise.resolve() };
  const uidsOf = (rows: readonly { uid: string }[]): string[] => rows.map(({ uid }) => uid);
  const doomed = await store.endings.requestDestroyAll(uidsOf(machines), now(), requestId);
  const going = await store.resources.requestDelete(uidsOf(resources), now());
  const inOrder = going.toSorted((a, b) => orderOf(a) - orderOf(b));
  const work = async () => {
    await destroyInTurn(deps, doomed.slice(0, AT_ONCE), requestId);
    const room = Math.max(0, AT_ONCE - doomed.length);
    for (const row of inOrder.slice(0, room)) await deleteResource(deps, row);
  };
  return { machines: doomed, resources: inOrder, work: work() };
}

const orderOf = ({ spec }: ResourceRow): number => RESOURCE_KINDS.indexOf(spec.kind);
