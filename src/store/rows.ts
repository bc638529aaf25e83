import * as z from "zod";
import { ODD_ROW, StoreError, type Statement } from "./db.ts";
import { query } from "./statements.ts";
import type { Db } from "./writer.ts";

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
  db: Db,
  schema: z.ZodType<T>,
  asked: { readonly from: Statement; readonly order: string; readonly page: number; readonly perPage: number },
): Promise<{ rows: T[]; total: number }> {
  const { text, params } = asked.from;
  const offset = (asked.page - 1) * asked.perPage;
  const [counted, rows] = await db.batch([
    query(`SELECT count(*) AS total FROM ${text}`, ...params),
    query(`SELECT * FROM ${text} ORDER BY ${asked.order} LIMIT ? OFFSET ?`, ...params, asked.perPage, offset),
  ]);
  const total = parseFirst(z.object({ total: z.int() }), counted ?? [])?.total ?? 0;
  return { rows: parseRows(schema, rows ?? []), total };
}
