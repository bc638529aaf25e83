/**
 * A database cut down to what a fault can strike: one statement, or one batch. Under it lies real D1, or a Durable Object's own
 * SQLite, which is the same engine without the hop and so a hundred times as fast; over it, D1's interface as `src/store/db.ts`
 * uses it.
 */
import type { Param, Statement } from "../../../src/store/db.ts";

export type Row = Record<string, unknown>;

export interface Database {
  rows(statement: Statement): Promise<Row[]>;
  /** All or none. */
  batch(statements: readonly Statement[]): Promise<Row[][]>;
}

export function onSqlite(storage: DurableObjectStorage): Database {
  const run = ({ text, params }: Statement): Row[] => storage.sql.exec(text, ...params).toArray();
  return {
    rows: async (statement) => run(statement),
    batch: async (statements) => storage.transactionSync(() => statements.map(run)),
  };
}

export function onD1(db: D1Database): Database {
  const prepare = ({ text, params }: Statement) => db.prepare(text).bind(...params);
  return {
    rows: async (statement) => (await prepare(statement).all<Row>()).results,
    batch: async (statements) => (await db.batch<Row>(statements.map(prepare))).map(({ results }) => results),
  };
}

interface Prepared extends Statement {
  bind(...params: Param[]): Prepared;
  all(): Promise<{ results: Row[]; meta: { size_after: number } }>;
}

/** What it holds, in bytes: not much. */
const SIZE = 1_000_000;

/**
 * D1's interface over such a database. `shape` is any D1: its rows are generic, which nothing but a Proxy can stand in for. What
 * of D1 is not known here throws, so that nobody relies on less than the real one.
 */
export function asD1(database: Database, shape: D1Database): D1Database {
  const prepare = (text: string, params: readonly Param[] = []): Prepared => ({
    text,
    params,
    bind: (...bound) => prepare(text, bound),
    all: async () => ({ results: await database.rows({ text, params }), meta: { size_after: SIZE } }),
  });
  const known = new Map<string | symbol, unknown>([
    ["prepare", (text: string) => prepare(text)],
    [
      "batch",
      async (statements: readonly Statement[]) => (await database.batch(statements)).map((results) => ({ results })),
    ],
  ]);
  return new Proxy(shape, {
    get: (_shape, key) => {
      if (!known.has(key)) throw new Error(`the simulation knows no D1 method ${String(key)}`);
      return known.get(key);
    },
  });
}
