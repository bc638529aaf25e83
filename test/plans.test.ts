import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { takeScans, watched } from "./plans.ts";

/** What is said of a statement that a store might send. */
async function saidOf(text: string): Promise<readonly string[]> {
  watched(env.DB).prepare(text);
  return takeScans(env.DB);
}

it.each([
  "SELECT * FROM machines WHERE label_uid = ?",
  "SELECT * FROM machines WHERE owner = ? AND phase = 'destroyed' AND destroyed_at IS NOT NULL",
  "SELECT count(*) FROM sweeps",
  "SELECT * FROM sweeps ORDER BY finished_at LIMIT ?",
  "SELECT * FROM events WHERE owner = ? ORDER BY name LIMIT ?",
  "SELECT * FROM events AS told WHERE told.request_id = ?",
  "SELECT * FROM resources WHERE uid > ? ORDER BY uid LIMIT ?",
  "DELETE FROM resource_uses WHERE resource_uid = ?",
  "UPDATE tokens SET note = ?1 WHERE owner = ?2",
  "SELECT * FROM charges WHERE account = ?",
])("a statement that reads more with every row of the past is refused: %s", async (text) => {
  expect(await saidOf(text)).toHaveLength(1);
});

it.each([
  "SELECT * FROM machines WHERE uid IN (SELECT value FROM json_each(?))",
  "SELECT * FROM machines WHERE phase IN ('requested', 'active', 'destroying') ORDER BY region",
  "SELECT * FROM charged_months WHERE month = ? AND account = ?",
  "SELECT * FROM settings",
  "SELECT * FROM (SELECT ? AS name) AS new",
])("one that reads rows by their keys, live rows or a table that does not grow is not: %s", async (text) => {
  expect(await saidOf(text)).toEqual([]);
});
