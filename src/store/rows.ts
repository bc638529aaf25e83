import { intOf, listOf, type Reader } from "./columns.ts";
import type { Statement } from "./db.ts";
import { query, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** Reads rows; one that cannot be read is a `StoreError`. */
export const parseRows = <T>(reader: Reader<T>, rows: readonly unknown[]): T[] => listOf(rows, reader);

/** The first row, or null. */
export const parseFirst = <T>(reader: Reader<T>, rows: readonly unknown[]): T | null =>
  parseRows(reader, rows.slice(0, 1))[0] ?? null;

/**
 * SQL of the rowid of the row that lives among those of one name, else of the last: two looks into indexes, however many there were.
 * `named` is everything behind FROM.
 */
export const lastOf = (named: string, phases: { readonly live: string; readonly ended: string }): string =>
  `coalesce((SELECT rowid FROM ${named} AND ${phases.live}),
    (SELECT rowid FROM ${named} AND ${phases.ended} ORDER BY requested_at DESC, rowid DESC LIMIT 1))`;

/** Which part of a list; `page` counts from 1. */
export interface Paging {
  readonly page: number;
  readonly perPage: number;
}

/** A part of a list. */
export interface Page<T> {
  readonly rows: T[];
  readonly hasMore: boolean;
  /** How many there are in all; null where nobody counts them. */
  readonly total: number | null;
}

/** A query's rows; `from` is everything after SELECT …, up to the order. */
interface Listed extends Paging {
  /** All that there are when absent. */
  readonly columns?: string;
  readonly from: Statement;
  readonly order: string;
}

/** One page of what grows: read no further than it, and so not counted. */
export async function selectPage<T>(db: Db, reader: Reader<T>, asked: Listed): Promise<Page<T>> {
  const rows = parseRows(reader, await db.read(pageOf(asked, asked.perPage + 1)));
  return { rows: rows.slice(0, asked.perPage), hasMore: rows.length > asked.perPage, total: null };
}

/** One page of what does not, and how many there are. */
export async function selectCounted<T>(db: Db, reader: Reader<T>, asked: Listed): Promise<Page<T>> {
  const { text, params } = asked.from;
  const [counted, rows] = await db.batch([
    query(`SELECT count(*) AS total FROM ${text}`, ...params),
    pageOf(asked, asked.perPage),
  ]);
  const total = parseFirst((row) => intOf(row, "total"), counted ?? []) ?? 0;
  return { rows: parseRows(reader, rows ?? []), hasMore: asked.page * asked.perPage < total, total };
}

const pageOf = ({ columns = "*", from: { text, params }, order, page, perPage }: Listed, most: number): Query =>
  query(`SELECT ${columns} FROM ${text} ORDER BY ${order} LIMIT ? OFFSET ?`, ...params, most, (page - 1) * perPage);
