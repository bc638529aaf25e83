/** Whole databases as values: to empty one, to lose it, to take a copy and to restore it, and to put another in its place. */
import * as z from "zod";
import { sql } from "../../../src/store/db.ts";
import { insertInto, statementOf } from "../../../src/store/statements.ts";
import type { Database, Row } from "./database.ts";

/** Rows by table; tables that are not named are empty. */
export type Copy = ReadonlyMap<string, readonly Row[]>;

/** As the migrations leave a database that was made at `now`. */
export const newDatabase = (now: number): Copy => new Map([["locks", [{ name: "sweep", last_good_cron_at: now }]]]);

export async function copyOf(database: Database): Promise<Copy> {
  const tables = await tablesOf(database);
  const rows = await database.batch(tables.map((table) => sql(`SELECT * FROM ${table}`)));
  return new Map(tables.map((table, index) => [table, rows[index] ?? []]));
}

/** Makes a database be such a copy. */
export async function become(database: Database, copy: Copy): Promise<void> {
  const tables = await tablesOf(database);
  const inserts = [...copy].flatMap(([table, rows]) =>
    rows.map((row) => statementOf(insertInto(table, params.parse(row)))),
  );
  await database.batch([...tables.map((table) => sql(`DELETE FROM ${table}`)), ...inserts]);
}

async function tablesOf(database: Database): Promise<string[]> {
  const rows = await database.rows(
    sql(`SELECT name FROM sqlite_master WHERE type = 'table'
           AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'd1_migrations' ORDER BY name`),
  );
  return rows.map(({ name }) => String(name));
}

/** A row as it may be written again. */
const params = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
