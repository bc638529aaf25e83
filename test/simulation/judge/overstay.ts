/** I1: how many good ticks each machine of ours lives on past its end, which is to be few. */
import * as z from "zod";
import { sql } from "../../../src/store/db.ts";
import type { ServerState } from "../../simulator/simulator.ts";
import type { Books } from "./books.ts";
import type { Database } from "../world/database.ts";
import { CAPACITY, MAX_AGE, RECOVERY } from "../world/settings.ts";
import { createdAt, isProtected, labelEnd, uidOf } from "../world/truth.ts";

const liveRow = z.object({
  uid: z.string(),
  owner: z.string(),
  phase: z.string(),
  expires_at: z.number(),
  label_expires_at: z.number().nullable(),
  max_until: z.number(),
  next_try_at: z.number().nullable(),
  delete_accepted_at: z.number().nullable(),
  missing_since: z.number().nullable(),
  mismatched_since: z.number().nullable(),
});
export type LiveRow = z.infer<typeof liveRow>;

const LIVE = sql(
  `SELECT coalesce(label_uid, uid) AS uid, owner, phase, expires_at, label_expires_at, max_until, next_try_at, delete_accepted_at, missing_since, mismatched_since
   FROM machines WHERE phase IN ('requested', 'active', 'destroying')`,
);

/** By the uid that the machine's label tells, which is not the row's own where its old row could not be opened again. */
export const liveRows = async (database: Database): Promise<Map<string, LiveRow>> =>
  new Map(
    z
      .array(liveRow)
      .parse(await database.rows(LIVE))
      .map((row) => [row.uid, row]),
  );

/**
 * From when on a machine has no right to live: by its row and label. Without a row by its age and label: it is to have a row soon
 * (I5), and that is what its lease then goes by.
 */
export function dueAt(server: ServerState, row: LiveRow | undefined): number {
  if (row === undefined) return Math.max(createdAt(server) + MAX_AGE + 1, labelEnd(server));
  if (row.phase === "destroying") return row.expires_at;
  return Math.min(Math.max(row.expires_at, labelEnd(server)), row.max_until);
}

/**
 * How a tick went: `good`, D1 and provider answered all of it; `blind`, the provider did and D1 nothing at all; `bad`, anything
 * else, of which nothing is promised.
 */
export type Quality = "good" | "blind" | "bad";

export function createOverstay(books: Books, capacity = CAPACITY) {
  const ticksPast = new Map<number, number>();
  /** The most that it may be, by the largest backlog since it was due. */
  const mostOf = new Map<number, number>();

  /** Looks at what is left after a tick that began at `now`. */
  return function afterTick(
    servers: readonly ServerState[],
    rowsBefore: ReadonlyMap<string, LiveRow>,
    rows: ReadonlyMap<string, LiveRow>,
    now: number,
    quality: Quality,
  ): void {
    if (quality === "bad") return;
    const ends = servers.map((server) => {
      const row = rows.get(uidOf(server));
      // D1's word cannot be asked for: then it is the latest that any row could say.
      const due = quality === "good" ? dueAt(server, row) : dueAt(server, undefined);
      return { server, row, isDue: now >= due && !isProtected(server) };
    });
    const backlog = ends.filter(({ isDue }) => isDue).length;
    for (const { server, row, isDue } of ends) {
      const before = rowsBefore.get(uidOf(server));
      const isExcused = [before, row].some((one) => isRecovering(one, now, books.struckAt));
      if (isDue && quality === "good" && books.hit.size > 0 && isPlain(before) && now >= dueAt(server, before))
        books.broken.push(`I8: server ${server.id} outlived a tick in which others alone failed`);
      if (!isDue && quality === "good") ticksPast.delete(server.id);
      else if (isDue && !isExcused) ticksPast.set(server.id, (ticksPast.get(server.id) ?? 0) + 1);
      const past = ticksPast.get(server.id) ?? 0;
      if (past === 0) mostOf.delete(server.id);
      // What died in the tick was of the backlog too.
      const waited = rowsBefore.size - rows.size + backlog;
      const most = Math.max(mostOf.get(server.id) ?? 0, Math.ceil(waited / capacity) + 1);
      mostOf.set(server.id, most);
      books.longestOverstay = Math.max(books.longestOverstay, past);
      if (past >= most) books.broken.push(`I1: server ${server.id} lives after ${past} good ticks past its end`);
    }
  };
}

/** Whether nothing but its end concerns a machine, so that the first tick past it ends it. */
const isPlain = (row: LiveRow | undefined): boolean =>
  row?.phase === "active" &&
  [row.next_try_at, row.delete_accepted_at, row.missing_since, row.mismatched_since].every((mark) => mark === null);

/** Whether an item is still left alone for what went wrong before; that takes a while, and no longer. */
function isRecovering(row: LiveRow | undefined, now: number, struckAt: number): boolean {
  if (now >= struckAt + RECOVERY) return false;
  if (row === undefined) return true;
  const { next_try_at, delete_accepted_at, missing_since, mismatched_since } = row;
  return (next_try_at ?? 0) > now || delete_accepted_at !== null || missing_since !== null || mismatched_since !== null;
}
