// Holds answers against an OpenAPI document: as much of JSON Schema as Hetzner's uses, and loud about anything more.
import { readFileSync } from "node:fs";
import { isObject, type JsonObject } from "../simulator/json.ts";

/** An OpenAPI document that answers can be held against. */
export interface OfficialDocument {
  /** Whether it has the operation; `path` is without `/v1` and query. */
  describes(method: string, path: string): boolean;
  /** Every difference between an answer and what the document promises; `path` is without `/v1` and query. */
  differences(method: string, path: string, status: number, body: unknown): string[];
}

const ANNOTATIONS = new Set(["title", "description", "example", "default", "deprecated"]);

const FORMATS: Record<string, RegExp> = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  decimal: /^\d+(?:\.\d+)?$/,
  ipv4: /^\d{1,3}(?:\.\d{1,3}){3}$/,
};
const NUMBER_FORMATS = new Set(["int32", "int64", "double"]);

/** Reads the document (JSON) from a file. */
export function readOfficialDocument(file: string): OfficialDocument {
  const document = objectAt(JSON.parse(readFileSync(file, "utf8")), "document");
  const templates = Object.entries(objectAt(document["paths"], "paths"));
  const operationAt = (method: string, path: string): JsonObject | null => {
    // `/servers/actions` is also what `/servers/{id}` looks like: the one without a parameter goes first.
    const found =
      templates.find(([template]) => template === path) ?? templates.find(([template]) => matches(template, path));
    const operation = isObject(found?.[1]) ? found[1][method.toLowerCase()] : undefined;
    return isObject(operation) ? operation : null;
  };
  return {
    describes: (method, path) => operationAt(method, path) !== null,
    differences(method, path, status, body) {
      const operation = operationAt(method, path);
      if (operation === null) return [`the document has no ${method} ${path}`];
      const responses = objectAt(operation["responses"], "responses");
      const response = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`];
      if (response === undefined) return [`the document has no ${status} for ${method} ${path}`];
      const content = objectAt(resolve(document, objectAt(response, "response"))["content"] ?? {}, "content");
      const json = content["application/json"];
      return isObject(json) ? check(document, objectAt(json["schema"], "schema"), body, "body") : [];
    },
  };
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{[a-z_]+\}/g, "[^/]+")}$`).test(path);
}

function objectAt(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw new Error(`the document has no ${what}`);
}

function resolve(document: JsonObject, node: JsonObject): JsonObject {
  const reference = node["$ref"];
  if (typeof reference !== "string") return node;
  const target = reference
    .slice("#/".length)
    .split("/")
    .reduce((parent, key) => objectAt(parent[key], reference), document);
  return resolve(document, target);
}

function check(document: JsonObject, unresolved: JsonObject, value: unknown, at: string): string[] {
  const schema = resolve(document, unresolved);
  return Object.entries(schema).flatMap(([keyword, wanted]): string[] => {
    if (ANNOTATIONS.has(keyword) || keyword.startsWith("x-")) return [];
    switch (keyword) {
      case "properties":
        return isObject(value) ? checkProperties(document, objectAt(wanted, at), value, at) : [];
      case "additionalProperties":
        return isObject(value) ? checkAdditional(document, schema, wanted, value, at) : [];
      case "items":
        return Array.isArray(value)
          ? value.flatMap((item, index) => check(document, objectAt(wanted, at), item, `${at}[${index}]`))
          : [];
      default:
        return checkAssertion(keyword, wanted, value)
          ? []
          : [`${at}: ${JSON.stringify(value)} fails ${keyword} ${JSON.stringify(wanted)}`];
    }
  });
}

function checkProperties(document: JsonObject, properties: JsonObject, value: JsonObject, at: string): string[] {
  return Object.entries(properties)
    .filter(([name]) => value[name] !== undefined)
    .flatMap(([name, schema]) => check(document, objectAt(schema, at), value[name], `${at}.${name}`));
}

function checkAdditional(
  document: JsonObject,
  schema: JsonObject,
  wanted: unknown,
  value: JsonObject,
  at: string,
): string[] {
  const known = Object.keys(isObject(schema["properties"]) ? schema["properties"] : {});
  const others = Object.entries(value).filter(([name]) => !known.includes(name));
  if (wanted === false) return others.map(([name]) => `${at}: ${name} is not in the document`);
  if (!isObject(wanted)) return [];
  return others.flatMap(([name, item]) => check(document, wanted, item, `${at}.${name}`));
}

function checkAssertion(keyword: string, wanted: unknown, value: unknown): boolean {
  switch (keyword) {
    case "type":
      return [wanted].flat().some((type) => isOfType(type, value));
    case "required":
      return !isObject(value) || !Array.isArray(wanted) || wanted.every((name: string) => value[name] !== undefined);
    case "enum":
      return Array.isArray(wanted) && wanted.includes(value);
    case "pattern":
      return typeof value !== "string" || new RegExp(String(wanted)).test(value);
    case "minimum":
      return typeof value !== "number" || value >= Number(wanted);
    case "maximum":
      return typeof value !== "number" || value <= Number(wanted);
    case "minLength":
      return typeof value !== "string" || value.length >= Number(wanted);
    case "maxLength":
      return typeof value !== "string" || value.length <= Number(wanted);
    case "format":
      return isOfFormat(String(wanted), value);
    default:
      throw new Error(`the document uses ${keyword}, which this check does not know`);
  }
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isSafeInteger(value);
    default:
      return typeof value === type;
  }
}

function isOfFormat(format: string, value: unknown): boolean {
  if (typeof value !== "string" || NUMBER_FORMATS.has(format)) return true;
  const pattern = FORMATS[format];
  if (pattern === undefined) throw new Error(`the document uses the format ${format}, which this check does not know`);
  return pattern.test(value);
}
