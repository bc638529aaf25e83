import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { sql, openSql, StoreError, type Statement } from "../../../src/store/db.ts";
import { asD1, onD1, type Database } from "./database.ts";
import { become, copyOf, newDatabase } from "./copies.ts";
import { withSqlite } from "./sim-db.ts";

/** What happens, whatever happens: of a failure that it is one, and what mayfly makes of its words. */
async function outcomeOf(database: Database, batch: readonly Statement[]): Promise<unknown> {
  const db = openSql(asD1(database, env.DB));
  const [only, ...more] = batch;
  try {
    return only !== undefined && more.length === 0 ? await db.rows(only) : await db.batch(batch);
  } catch (error) {
    if (error instanceof StoreError) return `refused: ${error.hint}`;
    throw error;
  }
}

const insert = (id: string, expiresAt = 1, secret = id) =>
  sql(
    `INSERT INTO tokens (id, owner, secret_sha256, auth_epoch, created_at, expires_at) VALUES (?, 'tok.a', ?, '1', 0, ?)
     ON CONFLICT (id) DO NOTHING RETURNING *`,
    id,
    secret,
    expiresAt,
  );
const all = sql("SELECT * FROM tokens ORDER BY id");
const many = (count: number) =>
  sql(
    `SELECT ${Array.from({ length: count }, () => "?").join(" + ")} AS sum`,
    ...Array.from({ length: count }, () => 1),
  );

const CASES: Record<string, readonly (readonly Statement[])[]> = {
  "types of what is bound and read": [
    [sql("SELECT ? AS text, ? AS whole, ? AS large, ? AS part, ? AS nothing", "ä'\n", 7, 4102444800000, 1.5, null)],
    [sql("SELECT ?2 AS b, ?1 AS a, ?1 AS again", "a", "b")],
    [sql("SELECT typeof(?) AS whole, typeof(?) AS part, typeof(?) AS text", 1, 1.5, "1")],
  ],
  "json_each over values and objects": [
    [sql("SELECT value FROM json_each(?)", '["x",1,null]')],
    [sql("SELECT value ->> 'uid' AS uid, value ->> 'flag' AS flag FROM json_each(?)", '[{"uid":"u","flag":true}]')],
  ],
  "RETURNING, conflicts and no change": [[insert("1")], [insert("1")], [all]],
  "changes() counts the statement before it in the batch": [
    [insert("1"), sql("SELECT changes() AS changed")],
    [insert("1"), sql("SELECT changes() AS changed")],
  ],
  "a batch is all or nothing": [[insert("1"), insert("2"), insert("3", 1, "2")], [all]],
  "UPDATE FROM json_each, OR IGNORE and CASE": [
    [insert("1"), insert("2")],
    [
      sql(
        `UPDATE tokens SET expires_at = doc.value ->> 'to' FROM json_each(?) AS doc WHERE id = doc.value ->> 'id' RETURNING *`,
        '[{"id":"1","to":9}]',
      ),
    ],
    [sql("UPDATE OR IGNORE tokens SET id = ?2 WHERE id = ?1 RETURNING *", "1", "2")],
    [sql("UPDATE tokens SET revoked_at = CASE WHEN ? THEN 5 ELSE revoked_at END RETURNING id, revoked_at", 1)],
  ],
  "STRICT tables, CHECKs, NOT NULL and missing tables refuse": [
    [sql("INSERT INTO settings (key, value) VALUES ('a', NULL)")],
    [sql("INSERT INTO tombstones (owner, name, until) VALUES ('a', 'b', 'soon')")],
    [sql("INSERT INTO catalogues (provider, server_types, fetched_at) VALUES ('a', '[', 1)")],
    [sql("SELECT * FROM nothing")],
    [sql("SELECT nothing FROM tokens")],
    [sql("SELEC")],
  ],
  "at most a hundred bound parameters": [[many(100)], [many(101)]],
  "a wrong number of parameters": [[sql("SELECT ? AS a")], [sql("SELECT ? AS a", 1, 2)]],
};

it.each(Object.entries(CASES))("the database of the simulation answers as D1 does: %s", async (_name, batches) => {
  const play = async (database: Database) => {
    const outcomes: unknown[] = [];
    for (const batch of batches) outcomes.push(await outcomeOf(database, batch));
    return outcomes;
  };
  const real = await play(onD1(env.DB));
  await withSqlite(async (database) => expect(await play(database)).toEqual(real));
});

it("is emptied, copied and restored whole", async () => {
  await withSqlite(async (database) => {
    await become(database, newDatabase(5));
    await database.rows(insert("1"));
    const copy = await copyOf(database);
    expect(copy.get("locks")).toMatchObject([{ name: "sweep", held_until: 0, last_good_cron_at: 5 }]);
    await become(database, newDatabase(6));
    expect(await database.rows(all)).toEqual([]);
    await become(database, copy);
    expect(await copyOf(database)).toEqual(copy);
    expect(await database.rows(all)).toHaveLength(1);
  });
});

it("knows no more of D1 than is used, and says so", () => {
  expect(() => Reflect.get(asD1(onD1(env.DB), env.DB), "dump")).toThrow("knows no D1 method dump");
});
