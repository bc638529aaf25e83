import { deleteClaimed, PATIENCE, type Deletion } from "../lifecycle/delete-resource.ts";
import { isSecondLook } from "../machine/rules.ts";
import type { ResourceRow } from "../machine/resource.ts";
import { StoreError } from "../store/db.ts";
import { lookForStrays } from "./strays.ts";
import { concernsAll, needsSomebody, type PhaseContext } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

/** As many as a tick looks at; it can delete fewer. */
const LOOKED_AT = 50;
/** What is still written after the reads, however many there are. */
const RECORDS = 4;
/** To read one again and to delete it. */
const FETCHES = 2;

/** What is past its end and used by no live machine. */
export const findEnded = ({ store, now }: Pick<PhaseContext, "store" | "now">): Promise<ResourceRow[]> =>
  store.resources.ended(now(), LOOKED_AT);

/**
 * Deletes firewalls, networks and keys that are past their own lease and used by no live machine, in that order (S52): on their
 * owner's word at once, else at the second look. What is still in use is tried again (S53, S130). Once an hour it also looks at what
 * the provider has.
 */
export async function leftovers(
  context: PhaseContext,
  ended: readonly ResourceRow[] | StoreError,
): Promise<Omit<PhaseReport, "phase">> {
  if (ended instanceof StoreError) throw ended;
  const items = ended.length === 0 ? [] : await deleteEnded(context, ended);
  const strays = await lookForStrays(context);
  return { items: [...items, ...strays.items], failure: strays.failure };
}

async function deleteEnded(context: PhaseContext, ended: readonly ResourceRow[]): Promise<Item[]> {
  const { store, budget } = context;
  const now = context.now();
  if (!budget.allows({ fetches: 0, statements: RECORDS }))
    return ended.map((row) => toItem(row, "remaining", "budget"));
  const isReady = (row: ResourceRow): boolean => row.deleteRequestedAt !== null || isSecondLook(row.idleSince, now);
  const idle = ended.filter((row) => !isReady(row));
  await store.resources.noteIdle(
    idle.filter(({ idleSince }) => idleSince === null).map(({ uid }) => uid),
    now,
  );
  const ready = ended.filter(isReady);
  const affordable = ready.filter((_, index) =>
    budget.allows({ fetches: FETCHES * (index + 1), statements: RECORDS - 1 }),
  );
  const claimed = await store.resources.claimDelete(affordable, now);
  const done = await deleteClaimed(context, claimed, async (last) => !concernsAll(last?.error) && context.mayGoOn());
  const isDone = ({ uid }: ResourceRow): boolean => done.some(({ row }) => row.uid === uid);
  return [
    ...idle.map((row) => toItem(row, "kept", "idle")),
    ...done.map((one) => toItem(one.row, outcomeOf(one), one.reason)),
    ...ready.filter((row) => !isDone(row)).map((row) => toItem(row, "remaining", "budget")),
  ];
}

function outcomeOf({ row, act, reason, error }: Deletion): Item["outcome"] {
  if (act === "close") return reason === "expired" ? "destroyed" : "settled";
  if (reason === "identity_mismatch" || needsSomebody(error)) return "alert";
  return error === undefined && row.attempts < PATIENCE ? "kept" : "error";
}

const toItem = (row: ResourceRow, outcome: Item["outcome"], reason: string): Item => ({
  kind: row.spec.kind,
  uid: row.uid,
  providerId: row.providerId,
  outcome,
  reason,
});
