/**
 * mayfly over HTTP. Requests are read and checked here and answered here; what they mean is decided in `lifecycle/`,
 * `reaper/` and `auth/`. The middleware stands in the order in which it runs.
 */
import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import { identify } from "../auth/identify.ts";
import { bearerToken, type AuthRefusal } from "../auth/principal.ts";
import { finishAlways, inBackground } from "./edge/background.ts";
import { limitBody, readJson } from "./edge/body.ts";
import { brakeAddress, paceAccount } from "./edge/brakes.ts";
import { catalogueRoutes } from "./catalogue.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { eventRoutes } from "./events.ts";
import { healthRoute } from "./health.ts";
import { hookRoute } from "./hooks.ts";
import { holdRoutes } from "./holds.ts";
import { readMachinesAhead } from "./machines/ahead.ts";
import { attachRoutes } from "./machines/attach-to-network.ts";
import { createRoutes } from "./machines/create.ts";
import { destroyManyRoutes } from "./machines/destroy-many.ts";
import { destroyRoutes } from "./machines/destroy.ts";
import { readRoutes } from "./machines/read.ts";
import { renewRoutes } from "./machines/renew.ts";
import type { AppEnv, Host } from "./edge/app-env.ts";
import { toProblem, untold } from "./edge/errors.ts";
import { HttpProblem, problemResponse, validOf } from "./edge/problem.ts";
import { checkName } from "../machine/name.ts";
import { Api } from "./edge/route.ts";
import { resourceRoutes } from "./resources/routes.ts";
import { sweepRoutes } from "./sweeps.ts";
import { tearDownRoute } from "./tear-down.ts";
import { tokenRoutes } from "./tokens.ts";
import { usageRoute } from "./usage.ts";
import { whoamiRoute } from "./whoami.ts";

/** The whole HTTP side as one Hono app over what it is handed. */
export function createApp(host: Host): Api {
  const app = new Api();

  app.use(finishAlways, identifyRequest(host), protectAnswer, brakeAddress(host));
  healthRoute(app, host);
  // Whoever signs an event has no bearer token, and its body is read as it came.
  hookRoute(app, openScope(host));

  app.use("/v1/*", openScope(host));
  readMachinesAhead(app);
  app.use("/v1/*", authenticate, paceAccount(host));
  app.on(["PUT", "POST"], "/v1/*", limitBody, readJson);
  whoamiRoute(app);
  createRoutes(app);
  readRoutes(app);
  renewRoutes(app);
  destroyRoutes(app);
  destroyManyRoutes(app);
  resourceRoutes(app);
  attachRoutes(app);
  tearDownRoute(app);
  catalogueRoutes(app);
  eventRoutes(app);
  usageRoute(app);
  sweepRoutes(app);
  holdRoutes(app);
  tokenRoutes(app);
  deliveryRoutes(app);
  refuseOtherMethods(app);

  answerErrors(app, host);
  return app;
}

/** What was meant to be a name: with a slash, as a branch has, or none at all, as an empty variable leaves. */
const SLASHED = /^\/v1\/(?:machines|firewalls|networks|ssh_keys)\/(.+\/.+|)$/;
/** The same before what is done to it. */
const SLASHED_ACTED_ON =
  /^\/v1\/(?:machines|firewalls|networks)\/(.+\/.+)\/(?:renew|attach_to_network|apply_to_resources|remove_from_resources|add_route)$/;

/** Answers problem details for what no route answers, and for whatever is thrown on the way. */
function answerErrors(app: Api, host: Host): void {
  app.notFound((c) => {
    // A branch as a name, more likely than a path that anybody made up.
    const name = (c.req.method === "POST" ? SLASHED_ACTED_ON : SLASHED).exec(c.req.path)?.[1];
    if (name !== undefined) validOf(checkName(name, "ref"));
    c.set("outcome", "not_found");
    const problem = new HttpProblem("not_found", {
      detail: "There is nothing at this path.",
      next: "See /openapi.json.",
    });
    return problemResponse(problem, c.get("requestId"));
  });
  app.onError((error, c) => {
    const problem = toProblem(error, { making: c.get("making"), instead: c.get("insteadOfRepeating") });
    c.set("outcome", problem.code);
    const more = untold(error, problem);
    if (more !== null) host.log({ event: "error", request_id: c.get("requestId"), error: more });
    return problemResponse(problem, c.get("requestId"));
  });
}

/** Gives the request an id, and tells of it when it has been answered. */
const identifyRequest = (host: Host) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const requestId = host.newUid();
    c.set("requestId", requestId);
    await next();
    // An answer that is there already is made anew by `c.header`.
    c.res.headers.set("X-Request-Id", requestId);
    const { fetches, statements } = c.get("meter") ?? { fetches: 0, statements: 0 };
    host.log({
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

/** Nobody keeps an answer, or takes it for what its type does not say. */
const protectAnswer = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  c.res.headers.set("Cache-Control", "no-store");
  c.res.headers.set("X-Content-Type-Options", "nosniff");
});

/** Reads the configuration and opens what the request works with. */
const openScope = (host: Host) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const scope = host.openRequest(c.env, c.get("requestId"));
    c.set("meter", scope.meter);
    c.set("scope", scope);
    await next();
  });

const authenticate = createMiddleware<AppEnv>(async (c, next) => {
  const token = bearerToken(c.req.header("Authorization"));
  const scope = c.get("scope");
  if (token === null)
    throw new HttpProblem("unauthorized", {
      detail: "There is no bearer token.",
      next: "Send `Authorization: Bearer <token>`: one that an admin minted, or your CI's own (OIDC).",
      headers: { "WWW-Authenticate": "Bearer" },
    });
  const caller = await identify(token, { ...scope, ahead: c.get("ahead") }, scope.auth);
  if (!caller.ok) throw notLetIn(caller.refusal);
  c.set("principal", caller.principal);
  c.set("scope", scope.onWordOf(caller.principal));
  await next();
  // Behind all that the call reads and writes: what was read ahead does not outlive a write.
  if (caller.noteUse !== undefined) inBackground(c, caller.noteUse());
});

const notLetIn = ({ code, message, rule, next, policy, claims }: AuthRefusal): HttpProblem =>
  new HttpProblem(code, {
    detail: message,
    rule,
    next,
    more: { policy, claims },
    ...(code === "unauthorized" ? { headers: { "WWW-Authenticate": "Bearer" } } : {}),
  });

/** Answers 405 on every path that takes other methods. */
function refuseOtherMethods(app: Api): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of app.routes)
    if (method !== "ALL" && !path.includes("*")) methods.set(path, (methods.get(path) ?? new Set()).add(method));
  for (const [path, known] of methods)
    app.all(path, () => {
      const allow = [...known].join(", ");
      throw new HttpProblem("method_not_allowed", {
        detail: `This path takes ${allow}.`,
        next: "Call it with one of those; /openapi.json says what each does.",
        headers: { Allow: allow },
      });
    });
}
