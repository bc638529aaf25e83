/** What D1 knows of live machines: looked at to be judged, never to judge by. */
import * as z from "zod";
import { sql } from "../../../src/store/db.ts";
import type { Database } from "../world/database.ts";

const liveRow = z.object({
  uid: z.string(),
  label_uid: z.string(),
  owner: z.string(),
  name: z.string(),
  phase: z.string(),
  expires_at: z.number(),
  next_try_at: z.number().nullable(),
});
export type LiveRow = z.infer<typeof liveRow>;

const LIVE = sql(
  `SELECT uid, coalesce(label_uid, uid) AS label_uid, owner, name, phase, expires_at, next_try_at
   FROM machines WHERE phase IN ('requested', 'active', 'destroying')`,
);

/** By the uid that the machine's label tells, which is not the row's own where its old row could not be opened again. */
export const liveRows = async (database: Database): Promise<Map<string, LiveRow>> =>
  new Map(
    z
      .array(liveRow)
      .parse(await database.rows(LIVE))
      .map((row) => [row.label_uid, row]),
  );
