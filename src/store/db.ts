/**
 * Everything that mayfly remembers, in D1: SQL is in this folder and nowhere else. `docs/storage.md` describes the tables.
 *
 * D1 has no interactive transactions: a claim is one guarded UPDATE, a batch is atomic, and an event joins the batch of
 * what it tells of. Rows are parsed as they come out, once.
 */

export type Param = string | number | null;
export interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}

/** The database, whatever is asked of it. Every failure is a {@link StoreError}. */
export interface Sql {
  /** The rows of one statement. */
  rows(statement: Statement): Promise<readonly unknown[]>;
  /** Runs all or none, in order; the rows of each. */
  batch(statements: readonly Statement[]): Promise<readonly (readonly unknown[])[]>;
  /** How much it holds. */
  bytes(): Promise<number>;
}

/** The same, where what goes out is counted. */
export interface CountedSql extends Sql {
  /** Counts statements that are not sent, as if they were: what a dry run leaves out is what the run that it foretells pays for. */
  leaveOut(count: number): void;
}

export const ODD_ROW = "a row cannot be read";

/** D1 refused or could not be reached, or answered what cannot be read. What was asked may have happened. */
export class StoreError extends Error {
  override readonly name = "StoreError";

  /** Nothing more can be written: the plan gives it no more room. What is there can be read, and deleted. */
  get isFull(): boolean {
    return /disk is full|maximum (DB size|account storage limit)/.test(this.message);
  }

  /** What is wrong, without the words of SQL. */
  get hint(): string {
    if (this.isFull) return "the database is full: shorten KEEP_HISTORY, or take a plan with more room";
    return /no such (table|column)/.test(this.message) || this.message === ODD_ROW
      ? "the database has no schema, or an old one: apply the migrations"
      : "the database does not answer";
  }
}

export const sql = (text: string, ...params: Param[]): Statement => ({ text, params });

/** Wraps a D1 binding. */
export function openSql(db: D1Database): Sql {
  const prepare = ({ text, params }: Statement) => db.prepare(text).bind(...params);
  const guarded = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw new StoreError(error instanceof Error ? error.message : "D1 failed", { cause: error });
    }
  };
  return {
    rows: (statement) => guarded(async () => (await prepare(statement).all<unknown>()).results),
    bytes: () => guarded(async () => (await prepare(sql("SELECT 1")).all()).meta.size_after),
    batch: (statements) => guarded(async () => (await db.batch(statements.map(prepare))).map(({ results }) => results)),
  };
}

/** The same database; `onStatements` is told how many statements go out, because a Worker's plan limits them. It is told here and nowhere else. */
export function countedSql(sent: Sql, onStatements: (count: number) => void): CountedSql {
  const counted = <T>(count: number, send: () => Promise<T>): Promise<T> => {
    onStatements(count);
    return send();
  };
  return {
    rows: (statement) => counted(1, () => sent.rows(statement)),
    batch: (statements) => counted(statements.length, () => sent.batch(statements)),
    bytes: () => counted(1, () => sent.bytes()),
    leaveOut: onStatements,
  };
}
