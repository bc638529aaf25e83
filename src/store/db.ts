/**
 * Everything that mayfly remembers, in D1: one file a table, and SQL nowhere else. `docs/storage.md` describes the tables.
 *
 * D1 has no interactive transactions: a claim is one guarded UPDATE, a batch is atomic, and an event joins the batch of
 * what it tells of. Rows are parsed as they come out, once.
 */
import * as z from "zod";

export type Param = string | number | null;
export interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}

/** The database as the rest of this folder uses it. Every failure is a {@link StoreError}. */
export interface Sql {
  /** The rows of one statement. */
  rows(statement: Statement): Promise<readonly unknown[]>;
  /** Runs all or none, in order; the rows of each. */
  batch(statements: readonly Statement[]): Promise<readonly (readonly unknown[])[]>;
}

const ODD_ROW = "a row cannot be read";

/** D1 refused or could not be reached, or answered what cannot be read. What was asked may have happened. */
export class StoreError extends Error {
  override readonly name = "StoreError";

  /** What is wrong, without the words of SQL. */
  get hint(): string {
    return /no such (table|column)/.test(this.message) || this.message === ODD_ROW
      ? "the database has no schema, or an old one: apply the migrations"
      : "the database does not answer";
  }
}

export const sql = (text: string, ...params: Param[]): Statement => ({ text, params });

/**
 * `INSERT INTO table (…)` of one row, which `unless` may know as `new` and forbid by finding something, then `tail`. Column
 * names come from code, values are bound.
 */
export function insertInto(
  table: string,
  values: Readonly<Record<string, Param>>,
  { unless, tail = "" }: { readonly unless?: string; readonly tail?: string } = {},
): Statement {
  const columns = Object.keys(values).join(", ");
  const row = Object.keys(values)
    .map((column) => `? AS ${column}`)
    .join(", ");
  const guard = unless === undefined ? "true" : `NOT EXISTS (${unless})`;
  return sql(
    `INSERT INTO ${table} (${columns}) SELECT * FROM (SELECT ${row}) AS new WHERE ${guard} ${tail}`,
    ...Object.values(values),
  );
}

/**
 * Wraps a D1 binding. `onStatements` is told how many statements go out, because a Worker's plan limits them. One that is
 * `readOnly` counts its writes and leaves them out.
 */
export function openSql(db: D1Database, onStatements: (count: number) => void, { readOnly = false } = {}): Sql {
  const prepare = ({ text, params }: Statement) => db.prepare(text).bind(...params);
  const guarded = async <T>(count: number, run: () => Promise<T>): Promise<T> => {
    onStatements(count);
    try {
      return await run();
    } catch (error) {
      throw new StoreError(error instanceof Error ? error.message : "D1 failed", { cause: error });
    }
  };
  const leavesOut = (statement: Statement) => readOnly && !/^\s*SELECT\b/.test(statement.text);
  return {
    rows: (statement) =>
      guarded(1, async () => (leavesOut(statement) ? [] : (await prepare(statement).all<unknown>()).results)),
    batch: (statements) =>
      guarded(statements.length, async () =>
        statements.some(leavesOut)
          ? statements.map(() => [])
          : (await db.batch(statements.map(prepare))).map(({ results }) => results),
      ),
  };
}

/** Nobody is trying, nothing backs off; `?1` is now. A day is longer than any back-off, so a later mark is a clock's mistake. */
export const FREE = "(next_try_at IS NULL OR next_try_at <= ?1 OR next_try_at > ?1 + 86400000)";

/** Parses rows by a schema. One that does not fit comes of a schema that this code does not know: a {@link StoreError}. */
export function parseRows<T>(schema: z.ZodType<T>, rows: readonly unknown[]): T[] {
  const parsed = z.array(schema).safeParse(rows);
  if (!parsed.success) throw new StoreError(ODD_ROW, { cause: parsed.error });
  return parsed.data;
}

/** The first row, or null. */
export const parseFirst = <T>(schema: z.ZodType<T>, rows: readonly unknown[]): T | null =>
  parseRows(schema, rows.slice(0, 1))[0] ?? null;

/** Text of JSON, as SQLite keeps it. */
export const jsonText = <T>(schema: z.ZodType<T>) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);

/** One page of a query, and how many rows it has in all. `from` is everything after SELECT …, up to the order. */
export async function selectPage<T>(
  db: Sql,
  schema: z.ZodType<T>,
  query: { readonly from: Statement; readonly order: string; readonly page: number; readonly perPage: number },
): Promise<{ rows: T[]; total: number }> {
  const { text, params } = query.from;
  const offset = (query.page - 1) * query.perPage;
  const [counted, rows] = await db.batch([
    sql(`SELECT count(*) AS total FROM ${text}`, ...params),
    sql(`SELECT * FROM ${text} ORDER BY ${query.order} LIMIT ? OFFSET ?`, ...params, query.perPage, offset),
  ]);
  const total = parseFirst(z.object({ total: z.int() }), counted ?? [])?.total ?? 0;
  return { rows: parseRows(schema, rows ?? []), total };
}
