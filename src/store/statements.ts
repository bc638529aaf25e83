import { sql, type Param, type Statement } from "./db.ts";

/** Reads, and changes nothing. */
export interface Query extends Statement {
  readonly kind: "query";
}

/** Changes rows, under a condition that whoever runs it can add to. */
export interface Change {
  readonly kind: "change";
  /** Everything before its WHERE. */
  readonly head: string;
  readonly where: string;
  /** Everything behind: what to do on a conflict, what to return. */
  readonly tail: string;
  readonly params: readonly Param[];
}

type Reads = `SELECT ${string}`;
type Changes = `${"UPDATE" | "INSERT" | "DELETE"} ${string}`;

export const query = (text: Reads, ...params: Param[]): Query => ({ kind: "query", text, params });

/** An INSERT has its rows from a SELECT, so that a condition can keep it from them. */
export const change = (
  { head, where, tail = "" }: { readonly head: Changes; readonly where: string; readonly tail?: string },
  ...params: Param[]
): Change => ({ kind: "change", head, where, tail, params });

/**
 * `INSERT INTO table (…)` of one row, which `unless` may know as `new` and forbid by finding something, then `tail`. Column
 * names come from code, values are bound, and `params` after them, for each `?` in `unless`.
 */
export function insertInto(
  table: string,
  values: Readonly<Record<string, Param>>,
  {
    unless,
    params = [],
    tail = "",
  }: { readonly unless?: string; readonly params?: readonly Param[]; readonly tail?: string } = {},
): Change {
  const columns = Object.keys(values).join(", ");
  const row = Object.keys(values)
    .map((column) => `? AS ${column}`)
    .join(", ");
  return change(
    {
      head: `INSERT INTO ${table} (${columns}) SELECT * FROM (SELECT ${row}) AS new`,
      where: unless === undefined ? "true" : `NOT EXISTS (${unless})`,
      tail,
    },
    ...Object.values(values),
    ...params,
  );
}

/** A change as it is sent, under one more condition where there is one. */
export const statementOf = ({ head, where, tail, params }: Change, only?: string): Statement =>
  sql(`${head} WHERE ${only === undefined ? where : `(${where}) AND ${only}`} ${tail}`, ...params);
