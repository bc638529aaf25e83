/**
 * Routes by definition: a definition says how a route is called and what it answers, the app checks each request by it, and the
 * OpenAPI document is made of the same definitions when mayfly is built (`scripts/worker/`).
 */
import { zValidator } from "@hono/zod-validator";
import { Hono, type Handler, type Input, type MiddlewareHandler, type TypedResponse } from "hono";
import type { StatusCode } from "hono/utils/http-status";
import type { JSONParsed } from "hono/utils/types";
import type * as z from "zod";
import type { AppEnv } from "./app-env.ts";
import { tellIssue } from "./issues.ts";

type Middleware = MiddlewareHandler<AppEnv>;

/** A route without its handler, in the words of OpenAPI; `middleware` runs before anything of the request is looked at. */
export interface Definition {
  method: "get" | "put" | "post" | "delete";
  path: string;
  summary: string;
  security?: [];
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
    const { method, middleware = [] } = definition;
    for (const before of [middleware, checksOf(definition)].flat()) this.on(method, path, before);
    this.on(method, path, handler);
  }
}

function checksOf({ request = {} }: Definition): Middleware[] {
  const { query, params, headers, body } = request;
  const checks: Middleware[] = [];
  if (query) checks.push(zValidator("query", query, refuse));
  if (params) checks.push(zValidator("param", params, refuse));
  if (headers) checks.push(zValidator("header", headers, refuse));
  if (body) {
    const check: Middleware = zValidator("json", body.content["application/json"].schema, refuse);
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

type Result = { target: string } & ({ success: true } | { success: false; error: { issues: z.core.$ZodIssue[] } });

function refuse(result: Result): void {
  if (result.success) return;
  throw tellIssue(result.error.issues, result.target === "json" ? "body" : result.target);
}
