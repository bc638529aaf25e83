import { getIfThere, type DriverErrorCode } from "../driver/driver.ts";
import type { Resources } from "../driver/capabilities.ts";
import { isSecondLook } from "../machine/rules.ts";
import type { ResourceReason } from "../machine/reason.ts";
import { isSameResource, type ResourceRow } from "../machine/resource.ts";
import type { ClaimedResource } from "../store/resource-endings.ts";
import { atMostFive } from "./at-most-five.ts";
import { backOffMs } from "./back-off.ts";
import type { Context, RequestContext } from "./context.ts";
import { onDriverError } from "./refusal.ts";
import { findByUid, resourcesOf } from "./resources.ts";

/** What became of one whose deletion was claimed. */
export type Deletion = Closed | Postponed;

/** Nothing stands for it any more, or it is given up. */
interface Closed {
  readonly row: ResourceRow;
  readonly act: "close";
  readonly reason: ResourceReason;
  /** The same for people, where there is more to say. */
  readonly detail?: string;
}

/** It is tried again. */
interface Postponed {
  readonly row: ResourceRow;
  readonly act: "postpone";
  readonly reason: ResourceReason | DriverErrorCode;
  /** The same for people, where there is more to say. */
  readonly detail?: string | null;
  /** What stopped it, where that is no mere waiting. */
  readonly error?: unknown;
  readonly missing?: true;
}

/**
 * Deletes one on its owner's word, which is written down first and holds: as soon as no machine uses it, and what this call
 * cannot finish, or over the rate does not begin, the sweep does. Answers its row as it is then.
 */
export async function deleteResource(context: RequestContext, row: ResourceRow): Promise<ResourceRow> {
  const { resources } = context.store;
  // Its word stands, and the sweep goes by it: over the rate there is nothing to write down once more.
  if (row.deleteRequestedAt !== null && !(await context.withinRate()).ok) return row;
  const marked = await resources.requestDelete([row.uid], context.now());
  const isTrying = marked.some(({ phase, nextTryAt }) => phase === "requested" && (nextTryAt ?? 0) > context.now());
  if (!isTrying && (await context.withinRate()).ok)
    await deleteClaimed(context, await resources.claimDelete(marked, context.now()));
  return (await resources.byUid(row.uid)) ?? row;
}

/** How a path goes about it. */
export interface DeletionRun {
  /** Asked before each, with how many are under way: whether it is deleted now, `later`, once another one is done, or not at all. */
  readonly goOn?: (underWay: number) => Promise<boolean | "later">;
  /** Told of each as soon as it is done, so that it may keep others from being begun. */
  readonly onDone?: (deletion: Deletion) => void;
  /** Whether what the provider keeps refusing is given up. Who waits for a word is to hear that it is not gone. */
  readonly givesUp?: boolean;
}

/** The last step of every path that deletes: at most five at once, and then what came of each is written down. */
export async function deleteClaimed(
  context: Context,
  claimed: readonly ClaimedResource[],
  { goOn = async () => true, onDone = () => {}, givesUp = false }: DeletionRun = {},
): Promise<readonly Deletion[]> {
  const done: Deletion[] = [];
  let underWay = 0;
  let isOver = false;
  try {
    await atMostFive<ClaimedResource, Deletion | null>(claimed, {
      async begin(one) {
        const answer = !isOver && (await goOn(underWay));
        if (answer === "later") return answer;
        isOver = !answer;
        if (isOver) return async () => null;
        underWay += 1;
        return async () => {
          try {
            const deletion = await deleteOne(context, one);
            onDone(deletion);
            return deletion;
          } finally {
            underWay -= 1;
          }
        };
      },
      tell: (_one, deletion) => void (deletion && done.push(givesUp ? orGivenUp(deletion) : deletion)),
    });
  } finally {
    // Where it breaks off, what was done is written down all the same.
    await writeDeletions(context, done);
  }
  return done;
}

async function writeDeletions(context: Context, done: readonly Deletion[]): Promise<void> {
  const now = context.now();
  const { resources } = context.store;
  await resources.close(
    done.flatMap(({ row, ...one }) => (one.act === "close" ? [{ uid: row.uid, reason: one.reason }] : [])),
    now,
  );
  await resources.postpone(
    done.flatMap((one) => (one.act === "postpone" ? [toTry(one, now)] : [])),
    now,
  );
}

async function deleteOne(context: Context, { row, isShared }: ClaimedResource): Promise<Deletion> {
  const resources = resourcesOf(context.capabilities, row.spec.kind);
  if (isShared) return { row, act: "close", reason: "shared" };
  if (resources === undefined) return { row, act: "postpone", reason: "not_offered" };
  return onDriverError(
    () => deleteSeen(context, row, resources),
    // The provider takes it off a machine that is gone in its own time (S53, S130).
    (error): Deletion =>
      ["in_use", "locked", "conflict"].includes(error.code)
        ? { row, act: "postpone", reason: "in_use" }
        : { row, act: "postpone", reason: error.code, detail: error.message, error },
  );
}

/** Reads it again, and deletes it if it is the one that was recorded (I2). */
async function deleteSeen(context: Context, row: ResourceRow, resources: Resources): Promise<Deletion> {
  const { rules, now } = context;
  const seen = row.providerId === null ? await findByUid(context, row) : await getIfThere(resources, row.providerId);
  // Without an id it may still land; only a second look, a minute after the first, is believed.
  if (seen === null && row.providerId === null && !isSecondLook(row.missingSince, now()))
    return { row, act: "postpone", reason: "not_seen", missing: true };
  if (seen === null) return { row, act: "close", reason: "gone" };
  if (!seen.hasLabels) return { row, act: "postpone", reason: "unreadable", error: "its labels cannot be read" };
  if (!isSameResource(row, seen, rules)) return stranger(row);
  // A network can be deleted under the machines that are in it, and that would be theirs to bear.
  if (seen.machineIds?.length !== 0 && row.spec.kind === "network")
    return { row, act: "postpone", reason: seen.machineIds === null ? "unreadable" : "in_use" };
  const { firewalls } = context.capabilities;
  if (seen.selectors.length > 0 && firewalls !== undefined && row.spec.kind === "firewall") {
    await firewalls.removeSelectors(seen.id, seen.selectors);
    // The provider takes it off in its own time, and deletes it at the next try.
    return { row, act: "postpone", reason: "in_use" };
  }
  await resources.delete(seen.id);
  return { row, act: "close", reason: "expired" };
}

/** A key that was there before us is nobody's to delete (S104). Anything else without our labels is given up at the second look. */
const stranger = (row: ResourceRow): Deletion =>
  row.spec.kind === "ssh_key" || row.attempts > 0
    ? { row, act: "close", reason: row.spec.kind === "ssh_key" ? "not_ours" : "disowned" }
    : { row, act: "postpone", reason: "identity_mismatch", error: "it is not the one that was recorded" };

/** With the back-off between them, some five hours and a half of sweeps. */
const MOST_TRIES = 30;
/** The provider's word about this one alone. An outage, or an answer that cannot be read, would meet all of them. */
const REFUSED: readonly string[] = ["in_use", "protected", "invalid_input"] satisfies Postponed["reason"][];

/** What the provider has refused for hours is given up: it costs nothing, and its name and the sweeps' time are wanted elsewhere. */
function orGivenUp(deletion: Deletion): Deletion {
  const { row, act, reason } = deletion;
  if (act === "close" || row.attempts + 1 < MOST_TRIES || !REFUSED.includes(reason)) return deletion;
  // What became idle during an outage may be in use for a moment.
  if (reason === "in_use" && row.lastError !== reason) return deletion;
  const detail = `the provider refused to delete it ${row.attempts + 1} times: ${deletion.detail ?? reason}`;
  return { row, act: "close", reason: "given_up", detail };
}

/** So often what is in use is tried at each tick; then less and less often. */
export const PATIENCE = 5;

function toTry({ row, reason, detail, error, missing }: Postponed, now: number) {
  const waits = error === undefined && row.attempts < PATIENCE;
  const failures = error === undefined ? row.attempts - PATIENCE : row.attempts;
  return {
    uid: row.uid,
    error: detail ?? reason,
    nextTryAt: waits ? now : now + backOffMs(Math.max(0, failures)),
    failed: missing === undefined,
    missing: missing === true,
  };
}
