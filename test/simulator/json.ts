/** A JSON object whose members nobody has looked at yet. */
export type JsonObject = { [key: string]: unknown };

/** Tells a JSON object from every other JSON value (arrays and null included). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
