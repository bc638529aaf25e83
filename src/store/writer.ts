import type { Word } from "../machine/event.ts";
import { openAhead, type Ahead } from "./ahead.ts";
import type { CountedSql } from "./db.ts";
import { statementOf, type Change, type Query } from "./statements.ts";

type Rows = readonly unknown[];

/**
 * The database as the rest of this folder uses it. Whether and when its changes count is settled here, where it was opened, and
 * not by those who make them.
 */
export interface Db {
  /** What every event says of whoever makes the changes. */
  readonly signature: Signature;
  /** What was read ahead is answered once, and only until something is written. */
  read(asked: Query): Promise<Rows>;
  /** Makes a change; the rows that it returns. */
  write(made: Change): Promise<Rows>;
  /** All or none, in order; the rows of each. */
  batch(parts: readonly (Query | Change)[]): Promise<readonly Rows[]>;
  /**
   * Makes changes, all or none, and answers the rows of the first: what was won. Where nothing is written, `foretold` is asked
   * instead what would have been won.
   */
  claim(changes: readonly Change[], foretold: Query): Promise<Rows>;
  /** Keeps what a query has just answered for the first who asks it. */
  keep(asked: Query, rows: Rows): void;
}

/** On whose word changes are made, and by which request; null where nobody knows, or no request does it. */
export interface Signature {
  readonly word: Word | null;
  readonly requestId: string | null;
}
const UNSIGNED: Signature = { word: null, requestId: null };

export interface DbMode {
  /** A condition under which alone anything changes: each change carries it. */
  readonly only?: string | undefined;
  /** Changes are counted and left out: they return nothing. */
  readonly readOnly: boolean;
  readonly signature?: Signature | undefined;
  /** Shared by all that one request reads and writes through. */
  readonly ahead?: Ahead | undefined;
}

export function openDb(sql: CountedSql, { only, readOnly, signature = UNSIGNED, ahead = openAhead() }: DbMode): Db {
  const isSent = (part: Query | Change) => part.kind === "query" || !readOnly;
  const toStatement = (part: Query | Change) => (part.kind === "query" ? part : statementOf(part, only));
  /** What of these parts is known already, if all of it is; a change makes everything unknown. */
  function takeAll(parts: readonly (Query | Change)[]): readonly Rows[] | null {
    if (parts.some(({ kind }) => kind === "change")) ahead.forget();
    const known = parts.map((part) => (part.kind === "query" ? ahead.take(part) : undefined));
    const rows = known.filter((one) => one !== undefined);
    return rows.length > 0 && rows.length === parts.length ? rows : null;
  }
  async function run(part: Query | Change): Promise<Rows> {
    const [known] = takeAll([part]) ?? [];
    if (known !== undefined) return known;
    if (isSent(part)) return sql.rows(toStatement(part));
    sql.leaveOut(1);
    return [];
  }
  async function batch(parts: readonly (Query | Change)[]): Promise<readonly Rows[]> {
    const known = takeAll(parts);
    if (known !== null) return known;
    const sent = parts.filter(isSent);
    sql.leaveOut(parts.length - sent.length);
    const answers = sent.length === 0 ? [] : await sql.batch(sent.map(toStatement));
    let next = 0;
    return parts.map((part) => (isSent(part) ? answers[next++] : null) ?? []);
  }
  return {
    signature,
    read: run,
    write: run,
    batch,
    async claim(changes, foretold) {
      if (!readOnly) return (await batch(changes))[0] ?? [];
      ahead.forget();
      // One goes out in their place.
      sql.leaveOut(changes.length - 1);
      return sql.rows(foretold);
    },
    keep: (asked, rows) => ahead.keep(asked, rows),
  };
}
