/**
 * Routes by definition: a definition says how a route is called and what it answers, the app checks each request by it, and the
 * OpenAPI document is made of the same definitions when mayfly is built (`scripts/worker/`).
 */
import { Hono, type Context, type Handler, type Input, type MiddlewareHandler, type TypedResponse } from "hono";
import type { StatusCode } from "hono/utils/http-status";
import type { JSONParsed } from "hono/utils/types";
import { validator } from "hono/validator";
import type * as z from "zod";
import type { AppEnv } from "./app-env.ts";
import { refuseBody } from "./body.ts";
import { tellIssue } from "./issues.ts";

type Middleware = MiddlewareHandler<AppEnv>;

/** A route without its handler, in the words of OpenAPI; `middleware` runs before anything of the request is looked at. */
export interface Definition {
  method: "get" | "put" | "post" | "delete";
  path: string;
  summary: string;
  security?: [];
  /** Its handler reads the body as it came. */
  readsBody?: true;
  middleware?: Middleware | readonly Middleware[];
  request?: {
    query?: z.ZodObject;
    params?: z.ZodObject;
    /** Those that the route itself goes by; others are none of its business. */
    headers?: z.ZodObject;
    body?: { content: { "application/json": { schema: z.ZodType } }; required?: boolean };
    // Nothing would check these, so no definition may have them.
    cookies?: never;
  };
  responses: { [status: number]: Answer; default?: Answer };
}
interface Answer {
  description: string;
  content?: Record<string, { schema: z.ZodType }>;
}

/** Holds a definition against what one may be, and keeps its exact type. */
export const createRoute = <D extends Definition>(definition: D): D => definition;

type Schemas<D extends Definition> =
  NonNullable<D["request"]> extends infer Request
    ? (Request extends { query: infer Schema } ? { query: Schema } : unknown) &
        (Request extends { params: infer Schema } ? { param: Schema } : unknown) &
        (Request extends { headers: infer Schema } ? { header: Schema } : unknown) &
        (Request extends { body: { content: { "application/json": { schema: infer Schema } } } }
          ? { json: Schema }
          : unknown)
    : never;

/** What `c.req.valid` gives out. */
interface Checked<D extends Definition> extends Input {
  out: { [Target in keyof Schemas<D>]: z.output<Schemas<D>[Target]> };
}

type Answers<D extends Definition> = {
  [Status in keyof D["responses"] & StatusCode]: D["responses"][Status] extends {
    content: { "application/json": { schema: infer Schema } };
  }
    ? TypedResponse<JSONParsed<z.output<Schema>>, Status, "json">
    : TypedResponse<null, Status, "body">;
}[keyof D["responses"] & StatusCode];

/** The app; all that it was told of its routes is in `definitions`. */
export class Api extends Hono<AppEnv> {
  readonly definitions: Definition[] = [];

  /** Adds a route: its middleware, then the checks of query, path, headers and body, then `handler`. */
  openapi<D extends Definition>(
    definition: D,
    handler: Handler<AppEnv, string, Checked<D>, Promise<Answers<D>>>,
  ): void {
    this.definitions.push(definition);
    const path = definition.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const { method, request, readsBody, middleware = [] } = definition;
    if (method !== "get" && request?.body === undefined && readsBody !== true) this.on(method, path, refuseBody);
    for (const before of [middleware, checksOf(definition)].flat()) this.on(method, path, before);
    this.on(method, path, handler);
  }
}

function checksOf({ request = {} }: Definition): Middleware[] {
  const { query, params, headers, body } = request;
  const checks: Middleware[] = [];
  if (query) checks.push(validator("query", (given) => parse("query", query, given)));
  if (params) checks.push(validator("param", (given) => parse("param", params, given)));
  // A schema has a header's name as people write it.
  if (headers) checks.push(validator("header", (_, c) => parse("header", headers, namedHeaders(headers, c))));
  if (body) {
    const { schema } = body.content["application/json"];
    const check: Middleware = validator("json", (given) => parse("body", schema, given));
    checks.push(body.required === true ? check : unlessAbsent(check));
  }
  return checks;
}

/** `readJson` has left a content type to every body and to none that is absent. */
const unlessAbsent =
  (check: Middleware): Middleware =>
  async (c, next) => {
    if (c.req.header("Content-Type") !== undefined) return check(c, next);
    c.req.addValidatedData("json", {});
    return next();
  };

const namedHeaders = (schema: z.ZodObject, { req }: Context): Record<string, string | undefined> =>
  Object.fromEntries(Object.keys(schema.shape).map((name) => [name, req.header(name)]));

/** What a schema makes of a part of a request; what is wrong with it is thrown. */
function parse<T>(part: string, schema: z.ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw tellIssue(parsed.error.issues, part);
}
