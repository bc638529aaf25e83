/**
 * mayfly over HTTP. Requests are read and checked here and answered here; what they mean is decided in `lifecycle/`,
 * `reaper/` and `auth/`. The middleware stands in the order in which it runs.
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import type * as z from "zod";
import { HTTPException } from "hono/http-exception";
import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import { bearerToken, identify } from "../auth/principal.ts";
import { readConfig } from "../config.ts";
import { Misconfigured } from "../machine/misconfigured.ts";
import { StoreError } from "../store/db.ts";
import { limitBody, readJson } from "./body.ts";
import { catalogueRoutes } from "./catalogue.ts";
import { healthRoute } from "./health.ts";
import { holdRoutes } from "./holds.ts";
import { attachRoutes } from "./machines/attach-to-network.ts";
import { createRoutes } from "./machines/create.ts";
import { destroyRoutes } from "./machines/destroy.ts";
import { readRoutes } from "./machines/read.ts";
import { renewRoutes } from "./machines/renew.ts";
import { HttpProblem, invalidField, problemResponse } from "./problem.ts";
import type { AppEnv } from "./app-env.ts";
import { openInvocation, openRequest } from "../invocation.ts";
import type { createProviders } from "../providers.ts";
import type { Runtime } from "../runtime.ts";
import { resourceRoutes } from "./resources/routes.ts";
import { sweepRoutes } from "./sweeps.ts";
import { tearDownRoute } from "./tear-down.ts";
import { tokenRoutes } from "./tokens.ts";

/** The whole HTTP side as one Hono app over a given runtime and its clouds. */
export function createApp(runtime: Runtime, openProvider: ReturnType<typeof createProviders>): OpenAPIHono<AppEnv> {
  const app = new OpenAPIHono<AppEnv>({
    defaultHook: (result) => {
      if (result.success) return;
      const whole = result.target === "json" ? "body" : result.target;
      throw tellIssue(result.error.issues, whole);
    },
  });

  app.use(identifyRequest(runtime));
  healthRoute(app, runtime);
  app.get("/openapi.json", (c) =>
    c.json(
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: { title: "mayfly", version: "1" },
        security: [{ token: [] }],
      }),
    ),
  );
  app.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });

  app.use("/v1/*", openScope(runtime, openProvider), authenticate);
  app.on(["PUT", "POST"], "/v1/*", limitBody, readJson);
  createRoutes(app);
  readRoutes(app);
  renewRoutes(app);
  destroyRoutes(app);
  resourceRoutes(app);
  attachRoutes(app);
  tearDownRoute(app);
  catalogueRoutes(app);
  sweepRoutes(app);
  holdRoutes(app);
  tokenRoutes(app);
  refuseOtherMethods(app);

  app.notFound((c) => {
    c.set("outcome", "not_found");
    const problem = new HttpProblem("not_found", {
      detail: "There is nothing at this path.",
      next: "See /openapi.json.",
    });
    return problemResponse(problem, c.get("requestId"));
  });
  app.onError((error, c) => {
    const problem = toProblem(error);
    c.set("outcome", problem.code);
    if (problem.code === "internal" || problem.code === "store_unavailable") {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
      runtime.log({ event: "error", request_id: c.get("requestId"), error: message });
    }
    return problemResponse(problem, c.get("requestId"));
  });
  return app;
}

/** Gives the request an id, and tells of it when it has been answered. */
const identifyRequest = (runtime: Runtime) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const requestId = runtime.newUid();
    c.set("requestId", requestId);
    await next();
    c.header("X-Request-Id", requestId);
    const { fetches, statements } = c.get("scope")?.meter ?? { fetches: 0, statements: 0 };
    runtime.log({
      event: "request",
      request_id: requestId,
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      outcome: c.get("outcome") ?? "ok",
      principal: c.get("principal")?.owner ?? null,
      machine: c.get("machine") ?? null,
      fetches,
      statements,
    });
  });

/** Reads the configuration and opens what the request works with. */
const openScope = (runtime: Runtime, openProvider: ReturnType<typeof createProviders>) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const config = readConfig(c.env);
    c.set("scope", openRequest(openInvocation(runtime, openProvider, c.env.DB), config, c.get("requestId")));
    await next();
  });

const authenticate = createMiddleware<AppEnv>(async (c, next) => {
  const token = bearerToken(c.req.header("Authorization"));
  const { store, config, now } = c.get("scope");
  const principal = token === null ? null : await identify(token, now(), store, config);
  if (principal === null)
    throw new HttpProblem("unauthorized", {
      detail: token === null ? "There is no bearer token." : "This token is not, or no longer, valid.",
      next: "Send `Authorization: Bearer <token>`; an admin mints tokens with POST /v1/tokens.",
      headers: { "WWW-Authenticate": "Bearer" },
    });
  c.set("principal", principal);
  await next();
});

/** Answers 405 on every path that takes other methods. */
function refuseOtherMethods(app: OpenAPIHono<AppEnv>): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of app.routes)
    if (method !== "ALL" && !path.includes("*")) methods.set(path, (methods.get(path) ?? new Set()).add(method));
  for (const [path, known] of methods)
    app.all(path, () => {
      const allow = [...known].join(", ");
      throw new HttpProblem("method_not_allowed", { detail: `This path takes ${allow}.`, headers: { Allow: allow } });
    });
}

function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof Misconfigured)
    return new HttpProblem("misconfigured", {
      detail: `The setting ${error.key} cannot be used.`,
      field: error.key,
      rule: error.rule,
      next: "An admin must correct it and deploy again.",
    });
  if (error instanceof StoreError)
    return new HttpProblem("store_unavailable", {
      detail: `What was asked may have happened: ${error.hint}.`,
      next: "Repeat the same call; it cannot double anything.",
    });
  // Hono's own refusals are all about requests that it cannot read.
  if (error instanceof HTTPException && error.status < 500)
    return new HttpProblem("malformed", { detail: error.message });
  return new HttpProblem("internal", {
    detail: "mayfly met an error of its own.",
    next: "Report it with the request_id.",
  });
}

type Issues = readonly z.core.$ZodIssue[];

/** The one issue that tells most: a field that is none, which may be a misspelt one; else the first, as deep as it goes. */
function tellIssue(issues: Issues, whole: string, path: readonly PropertyKey[] = []): HttpProblem {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const at = [...path, ...(issue?.path ?? [])];
  if (issue?.code === "unrecognized_keys")
    return invalidField([...at, issue.keys[0]].join("."), `is nothing that this call takes (${whole})`);
  // Of several shapes it is about the one that was meant, which is the one that fits on the outside.
  const meant = issue?.code === "invalid_union" ? issue.errors.find(isInside) : undefined;
  if (meant) return tellIssue(meant, whole, at);
  return invalidField(at.join(".") || whole, ruleOf(issue?.message ?? "is not valid"));
}

const isInside = (issues: Issues): boolean =>
  issues.some(({ code, path }) => typeof path[0] === "string" || code === "unrecognized_keys");

/** zod's sentences, in words that follow the field's name. */
function ruleOf(message: string): string {
  if (message.endsWith("received undefined")) return "is required";
  const expected = /^Invalid input: expected (\w+)/.exec(message)?.[1];
  return expected === undefined ? message : `must be of type ${expected}`;
}
