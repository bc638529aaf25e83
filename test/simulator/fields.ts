import { invalidFields, type FieldProblem } from "./errors.ts";
import { isObject, type JsonObject } from "./json.ts";
import { labelProblems, type Labels } from "./labels.ts";

const HOSTNAME_MAX_CHARACTERS = 63;
const HOSTNAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/**
 * Reads the fields of a request body and gathers what is wrong with them, so that one answer can name all.
 * After a refusal the values are placeholders; `check` must be called before they are used.
 */
export class Fields {
  private readonly problems: FieldProblem[] = [];
  private readonly body: JsonObject;

  constructor(body: JsonObject) {
    this.body = body;
  }

  /** Throws 422 `invalid_input` if anything was refused. */
  check(): void {
    if (this.problems.length > 0) throw invalidFields(this.problems);
  }

  refuse(name: string, ...messages: string[]): void {
    this.problems.push({ name, messages });
  }

  has(name: string): boolean {
    return this.body[name] !== undefined;
  }

  /** Refuses a field that is not there; wrongly typed ones are refused by the readers below. */
  require(...names: string[]): void {
    for (const name of names) if (!this.has(name)) this.refuse(name, "Missing data for required field.");
  }

  string(name: string): string | null {
    return this.read(name, null, (value) => typeof value === "string", "Not a valid string.");
  }

  /** A name or the like: text that is neither empty nor longer than that. */
  text(name: string, max_characters = Infinity): string {
    const value = this.string(name);
    if (value !== null && (value === "" || value.length > max_characters))
      this.refuse(
        name,
        Number.isFinite(max_characters) ? `Length must be between 1 and ${max_characters}.` : "Field may not be empty.",
      );
    return value ?? "";
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | null {
    const isChoice = (value: unknown): value is Choice => choices.some((choice) => choice === value);
    return this.read(name, null, isChoice, `Must be one of: ${choices.join(", ")}.`);
  }

  boolean(name: string, otherwise: boolean): boolean {
    return this.read(name, otherwise, (value) => typeof value === "boolean", "Not a valid boolean.");
  }

  /** An id or a name as text; the document says string, clients send numbers too. */
  idOrName(name: string): string | null {
    const value = this.read(name, null, isIdOrName, "Not a valid string.");
    return value === null ? null : String(value);
  }

  id(name: string): number | null {
    return this.read(name, null, isId, "Not a valid integer.");
  }

  list<Item>(name: string, isItem: (value: unknown) => value is Item): Item[] {
    const isList = (value: unknown): value is Item[] => Array.isArray(value) && value.every(isItem);
    return this.read(name, [], isList, "Not a valid list.");
  }

  object(name: string): JsonObject {
    return this.read(name, {}, isObject, "Not a valid mapping type.");
  }

  /** A host name as RFC 1123 has it, dots included. Source: Hetzner API, Servers. */
  hostname(name: string): string {
    const value = this.string(name);
    if (value !== null && (value.length > HOSTNAME_MAX_CHARACTERS || !HOSTNAME.test(value)))
      this.refuse(name, "Name must be a valid hostname.");
    return value ?? "";
  }

  /** Labels; null counts as none, as at Hetzner. */
  labels(name: string): Labels {
    const value = this.body[name] === null ? {} : this.object(name);
    const problems = labelProblems(value);
    if (problems.length > 0) this.refuse(name, ...problems);
    return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
  }

  private read<Value, Otherwise>(
    name: string,
    otherwise: Otherwise,
    isValue: (value: unknown) => value is Value,
    complaint: string,
  ): Value | Otherwise {
    const value = this.body[name];
    if (value === undefined) return otherwise;
    if (isValue(value)) return value;
    this.refuse(name, value === null ? "Field may not be null." : complaint);
    return otherwise;
  }
}

/** Whether a value can name a resource: an id or a non-empty name. */
export function isIdOrName(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "") || isId(value);
}

/** Whether a value is a resource id. */
export function isId(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}
