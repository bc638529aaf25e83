import { deleteClaimed, PATIENCE, type Deletion } from "../lifecycle/delete-resource.ts";
import { isSecondLook } from "../machine/rules.ts";
import type { DueResource } from "../store/resource-row.ts";
import { concernsAll, needsSomebody, type PhaseContext } from "./context.ts";
import type { StopReason } from "./pace.ts";
import { itemOf, type Item, type SweepReason } from "./report.ts";

/** As many as a tick looks at; it can delete fewer. */
const MOST_LOOKED_AT = 50;
/** What is still written after the reads, however many there are. */
const RECORDS = 4;
/** To read one again and to delete it. */
const FETCHES = 2;

/**
 * Deletes firewalls, networks and keys that are past their own lease and used by no live machine, in that order (S52): on their
 * owner's word at once, else at the second look. What is still in use is tried again (S53, S130), and given up after some hours.
 */
export async function endResources(context: PhaseContext): Promise<void> {
  const { store, pace, items } = context;
  const now = context.now();
  if (context.known.lacks("ended")) return;
  if (!pace.affords({ fetches: 0, statements: 1 })) {
    pace.leave("budget");
    return;
  }
  // What the machines used that died in this tick goes with a later one: the provider is still taking it off.
  const ended = await store.resources.ended(now, MOST_LOOKED_AT);
  if (ended.length === 0) return;
  if (!pace.affords({ fetches: 0, statements: RECORDS })) {
    items.push(...ended.map((row) => toItem(row, "remaining", "budget")));
    return;
  }
  const isReady = (row: DueResource): boolean => row.deleteRequestedAt !== null || isSecondLook(row.idleSince, now);
  const idle = ended.filter((row) => !isReady(row));
  await store.resources.noteIdle(
    idle.filter(({ idleSince }) => idleSince === null).map(({ uid }) => uid),
    now,
  );
  const ready = ended.filter(isReady);
  const affordable = ready.filter((_, index) =>
    pace.affords({ fetches: FETCHES * (index + 1), statements: RECORDS - 1 }),
  );
  const claimed = await store.resources.claimDelete(affordable, now);
  let stop: StopReason = "budget";
  const done = await deleteClaimed(context, claimed, {
    givesUp: true,
    onDone(last) {
      if (last.act === "postpone" && concernsAll(last.error)) pace.refuse(last.error.message);
    },
    // They have all been paid for.
    async goOn() {
      const reason = await pace.stop({ fetches: 0, statements: 0 });
      stop = reason ?? stop;
      return reason === null;
    },
  });
  const isDone = ({ uid }: DueResource): boolean => done.some(({ row }) => row.uid === uid);
  items.push(
    ...idle.map((row) => toItem(row, "kept", "idle")),
    ...done.map(itemOfDeletion),
    ...ready.filter((row) => !isDone(row)).map((row) => toItem(row, "remaining", stop)),
  );
}

function itemOfDeletion(deletion: Deletion): Item {
  const { reason } = deletion;
  const row = { ...deletion.row, kind: deletion.row.spec.kind };
  if (reason === "given_up") return toItem(row, "alert", reason, deletion.detail);
  if (deletion.act === "close") return toItem(row, reason === "expired" ? "destroyed" : "settled", reason);
  const { detail = null, error } = deletion;
  if (reason === "identity_mismatch" || needsSomebody(error)) return toItem(row, "alert", reason, detail);
  return toItem(row, error === undefined && row.attempts < PATIENCE ? "kept" : "error", reason, detail);
}

const toItem = (
  row: Pick<DueResource, "uid" | "owner" | "name" | "providerId" | "kind">,
  outcome: Item["outcome"],
  reason: SweepReason,
  detail: string | null = null,
): Item => ({
  kind: row.kind,
  ...itemOf(row, outcome, reason, detail),
});
