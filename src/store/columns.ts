/**
 * Columns of rows, read by hand: of every row of every answer, a general parser is what costs most of a list. Tests hold these
 * against schemas. Only JSON inside of a column is read by a schema here.
 */
import type * as z from "zod";
import { ROW_REASONS, type RowReason } from "../machine/reason.ts";
import { ODD_ROW, StoreError } from "./db.ts";

/** A row as D1 returns it: what stands in its columns, by their names. */
export type Row = Readonly<Record<string, unknown>>;
/** Makes of a row what the domain knows, or throws a {@link StoreError}; columns that it does not know do not matter. */
export type Reader<T> = (row: Row) => T;

/** It comes of a schema of the database that this code does not know. */
export function odd(what: string): never {
  throw new StoreError(ODD_ROW, { cause: new TypeError(what) });
}

export const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function textOf(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : odd(column);
}

export const textOrNull = (row: Row, column: string): string | null =>
  row[column] === null ? null : textOf(row, column);

/** A whole number that arithmetic is still exact with. */
export function intOf(row: Row, column: string): number {
  const value = row[column];
  return typeof value === "number" && Number.isSafeInteger(value) ? value : odd(column);
}

export const intOrNull = (row: Row, column: string): number | null =>
  row[column] === null ? null : intOf(row, column);

export function numberOf(row: Row, column: string): number {
  const value = row[column];
  return typeof value === "number" && Number.isFinite(value) ? value : odd(column);
}

export function truthOf(row: Row, column: string): boolean {
  const value = row[column];
  return typeof value === "boolean" ? value : odd(column);
}

export function oneOf<T extends string>(row: Row, column: string, words: readonly T[]): T {
  const value = row[column];
  return words.find((word) => word === value) ?? odd(column);
}

/** Why a row is as it is; one that another version wrote in words of its own is `unknown`, and stays readable. */
export function reasonOf(row: Row): RowReason | null {
  const { reason } = row;
  return reason === null ? null : (ROW_REASONS.find((word) => word === reason) ?? "unknown");
}

/** What a column of JSON holds; null where it is null, undefined where it is no JSON. */
export function jsonOf(row: Row, column: string): unknown {
  const value = row[column];
  if (typeof value !== "string") return value === null ? null : undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** A map from texts to texts, as JSON keeps it; null where it is none. */
export function textsOf(row: Row, column: string): Readonly<Record<string, string>> | null {
  const value = jsonOf(row, column);
  return isTexts(value) ? value : null;
}
const isText = (value: unknown): value is string => typeof value === "string";
const isTexts = (value: unknown): value is Record<string, string> => isRow(value) && Object.values(value).every(isText);
export const isListOfTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);

/** A list that was in such a column, each of it read like a row. */
export const listOf = <T>(value: unknown, reader: Reader<T>): T[] =>
  Array.isArray(value) ? value.map((item) => (isRow(item) ? reader(item) : odd("no row"))) : odd("no list");

/** What a column of JSON says by a schema, which says what becomes of what does not fit. */
export function jsonAs<T>(row: Row, column: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(jsonOf(row, column));
  return parsed.success ? parsed.data : odd(column);
}
