/** How an entry of mayfly.config.ts is read: whatever is wrong with it is thrown as {@link Misconfigured}, which names entry, key and rule. */
import * as z from "zod";
import { configName } from "./auth/issuers.ts";
import { tellIssue } from "./http/edge/issues.ts";
import { HttpProblem } from "./http/edge/problem.ts";
import { Misconfigured } from "./machine/misconfigured.ts";

export const NO_KEY = "is no key that can stand here";
export const UNDEFINED = "must have a value, or be left out: it is undefined";

/**
 * Throws {@link Misconfigured} for what would be dropped without a word, deep in an entry: whoever wrote it meant something. A key
 * that is `undefined` is mostly a slip in a name (`LISTS.smal`), and `__proto__` is no key to whoever copies.
 */
export function refuseDropped(given: unknown, key: string): void {
  if (typeof given !== "object" || given === null) return;
  const prototype: unknown = Object.getPrototypeOf(given);
  // Written in a literal, __proto__ is what an object inherits from.
  if (!Array.isArray(given) && prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new Misconfigured(key, "must be a plain object, which inherits nothing");
  for (const [name, value] of Object.entries(given)) {
    const path = `${key}.${name}`;
    if (name === "__proto__") throw new Misconfigured(path, NO_KEY);
    if (value === undefined) throw new Misconfigured(path, UNDEFINED);
    refuseDropped(value, path);
  }
}

/** The entries of a list, each with what it is called in errors: its name, where that can be read, else its place. */
export function entriesOf(part: string, given: unknown): { key: string; entry: unknown }[] {
  const entries = parsed(z.array(z.unknown(), `must be a list of ${part}`), given, part);
  return entries.map((entry, index) => {
    const named = z.object({ name: configName }).safeParse(entry);
    const key = `${part}.${named.success ? named.data.name : index}`;
    refuseDropped(entry, key);
    return { key, entry };
  });
}

/** Throws what is wrong with the entry `key`, if anything is. */
export function refuse(key: string, fault: { readonly field: string; readonly rule: string } | null): void {
  if (fault !== null) throw new Misconfigured(`${key}.${fault.field}`, fault.rule);
}

/** What a schema makes of a value, which errors call `key`. */
export function parsed<T>(schema: z.ZodType<T>, given: unknown, key: string): T {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  throw misconfigured(key, tellIssue(result.error.issues, key, noKey(schema, result.error)));
}

/** Of an entry's own keys it is said which there are; what stands deeper has too many shapes. */
function noKey(schema: z.ZodType, { issues }: z.ZodError): string {
  const isOwn = issues.some(({ code, path }) => code === "unrecognized_keys" && path.length === 0);
  const keys = isOwn && schema instanceof z.ZodObject ? `: ${Object.keys(schema.shape).join(", ")}` : "";
  return NO_KEY + keys;
}

/** What is said of a request's body, said of the entry. */
export function inConfiguration<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof HttpProblem ? misconfigured(key, error) : error;
  }
}

function misconfigured(key: string, { details: { field, rule, detail } }: HttpProblem): Misconfigured {
  return new Misconfigured(field === undefined || field === key ? key : `${key}.${field}`, rule ?? detail);
}
