import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import * as z from "zod";
import { createMachine, type CreateResult } from "../lifecycle/create.ts";
import { destroyMachine } from "../lifecycle/destroy.ts";
import { claimInstallation } from "../lifecycle/installation.ts";
import { refreshCreating } from "../lifecycle/refresh.ts";
import { sha256Hex } from "../auth/hash.ts";
import type { Principal } from "../auth/principal.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import { checkName, idOf, type Ref } from "../machine/name.ts";
import { needsBody } from "./body.ts";
import { machineBody, parseMachineBody, type MachineBody } from "./machine-body.ts";
import { machineJson, toJson } from "./machine-json.ts";
import { json, problems } from "./openapi.ts";
import { HttpProblem, invalidField, problemOf } from "./problem.ts";
import { labelSelector, metaOf, owner, paging, pagination, ref, statuses } from "./schemas.ts";
import type { AppEnv } from "./app-env.ts";
import type { Scope } from "../world.ts";

const one = z.object({ machine: machineJson });
const many = z.object({ machines: z.array(machineJson), meta: z.object({ pagination }) });
const body = { content: { "application/json": { schema: machineBody } }, required: true };
const ownerQuery = z.strictObject({ owner: owner.optional() });
const refParam = z.object({ ref });

const put = createRoute({
  method: "put",
  path: "/v1/machines/{ref}",
  summary: "Create a machine under your own name for it; a repeat is the same machine",
  middleware: needsBody,
  request: { params: z.object({ ref: z.string() }), query: ownerQuery, body },
  responses: { 200: json(one, "A repeat: the machine that is there"), 201: json(one, "A new machine"), ...problems },
});
const post = createRoute({
  method: "post",
  path: "/v1/machines",
  summary: "Create a machine under a name that is made for you",
  middleware: needsBody,
  request: { query: ownerQuery, body },
  responses: { 201: json(one, "A new machine"), ...problems },
});
const list = createRoute({
  method: "get",
  path: "/v1/machines",
  summary: "List your machines, live ones unless `status` asks for others",
  request: { query: ownerQuery.extend({ ...paging, label_selector: labelSelector.default([]), status: statuses }) },
  responses: { 200: json(many, "One page"), ...problems },
});
const get = createRoute({
  method: "get",
  path: "/v1/machines/{ref}",
  summary: "Get a machine by name or id",
  request: { params: refParam, query: ownerQuery },
  responses: { 200: json(one, "The live machine of that name, else the last"), ...problems },
});
const destroy = createRoute({
  method: "delete",
  path: "/v1/machines/{ref}",
  summary: "Destroy a machine by name or id",
  request: { params: refParam, query: ownerQuery },
  responses: {
    200: json(one, "Destroyed"),
    202: json(one, "It will be: the sweep goes on with it"),
    204: { description: "There was none" },
    ...problems,
  },
});

/** The routes of machines. */
export function machineRoutes(app: OpenAPIHono<AppEnv>): void {
  app.openapi(put, async (c) => {
    const name = checkName(c.req.valid("param").ref);
    if (!name.ok) throw invalidField(name.problem.field, name.problem.rule);
    const result = await create(c, name.value, c.req.valid("query").owner, c.req.valid("json"));
    return c.json({ machine: result.machine }, result.isNew ? 201 : 200);
  });

  app.openapi(post, async (c) => {
    const name = `m-${c.get("scope").world.newUid().slice(-12)}`;
    const result = await create(c, name, c.req.valid("query").owner, c.req.valid("json"));
    return c.json({ machine: result.machine }, 201);
  });

  app.openapi(list, async (c) => {
    const scope = c.get("scope");
    const { page, per_page: perPage, label_selector: labels, status, owner: asked } = c.req.valid("query");
    const principal = c.get("principal");
    const whose = principal.isAdmin && asked === undefined ? null : ownerFor(principal, asked);
    const { rows, total } = await scope.store.machines.list({ owner: whose, statuses: status, labels, page, perPage });
    const now = scope.now();
    const fresh = await refreshCreating(scope, rows);
    return c.json({ machines: fresh.map((row) => toJson(row, now)), meta: metaOf(page, perPage, total) }, 200);
  });

  app.openapi(get, async (c) => {
    const scope = c.get("scope");
    const row = await find(scope, c.get("principal"), c.req.valid("param").ref, c.req.valid("query").owner);
    if (row === null) throw notFound();
    c.set("machine", idOf(row.uid));
    const [fresh = row] = await refreshCreating(scope, [row]);
    return c.json({ machine: toJson(fresh, scope.now()) }, 200);
  });

  app.openapi(destroy, async (c) => {
    const scope = c.get("scope");
    const { ref: which } = c.req.valid("param");
    const row = await find(scope, c.get("principal"), which, c.req.valid("query").owner);
    if (row === null) {
      // By one's own name there is nothing to destroy, which is what was wanted; an id must be right.
      if (which.by === "name") return c.body(null, 204);
      throw notFound();
    }
    c.set("machine", idOf(row.uid));
    if (!isLive(row)) return c.json({ machine: toJson(row, scope.now()) }, 200);
    const work = destroyMachine(scope, row, c.get("requestId"));
    c.executionCtx.waitUntil(work);
    const result = await work;
    if (!result.ok) throw problemOf(result.refusal);
    const isGone = result.row.status === "destroyed";
    c.set("outcome", isGone ? "destroyed" : "deleting");
    return c.json({ machine: toJson(result.row, scope.now()) }, isGone ? 200 : 202);
  });
}

async function create(c: Context<AppEnv>, name: string, asked: string | undefined, sent: MachineBody) {
  const scope = c.get("scope");
  const { config, store } = scope;
  const principal = c.get("principal");
  const whose = ownerFor(principal, asked);
  const { request, ttlMs, specSha256 } = await parseMachineBody(sent, config);
  const stranger = await claimInstallation(store, config.installations);
  if (stranger) throw problemOf(stranger);
  const terms = {
    provider: config.provider,
    installation: config.installations[0],
    credential: (await sha256Hex(config.hcloudToken)).slice(0, 16),
    defaultTtlMs: config.defaultTtlMs,
    creates: config.creates,
  };
  // A caller that hangs up changes nothing: what was begun is finished and recorded.
  const work: Promise<CreateResult> = createMachine(
    { ...scope, newUid: scope.world.newUid, terms },
    {
      owner: whose,
      account: whose === principal.owner ? principal.account : whose,
      name,
      request,
      specSha256,
      ttlMs,
      requestId: c.get("requestId"),
    },
  );
  c.executionCtx.waitUntil(work);
  const result = await work;
  if (!result.ok) throw problemOf(result.refusal);
  c.set("machine", idOf(result.row.uid));
  c.set("outcome", result.isNew ? "created" : "repeated");
  c.header("Location", `/v1/machines/${idOf(result.row.uid)}`);
  return { machine: toJson(result.row, scope.now()), isNew: result.isNew };
}

/** Whose machines a call is about: the caller's own, or for an admin those of the owner it names. */
function ownerFor(principal: Principal, asked: string | undefined): string {
  if (asked === undefined || asked === principal.owner) return principal.owner;
  if (principal.isAdmin) return asked;
  throw new HttpProblem("forbidden", {
    detail: `This token is ${principal.owner}'s.`,
    field: "owner",
    rule: "must be left out, or be the token's own: only an admin acts for others",
  });
}

/** The row that a ref means to this caller. Unknown and foreign look the same. */
async function find(
  { store }: Scope,
  principal: Principal,
  which: Ref,
  asked: string | undefined,
): Promise<MachineRow | null> {
  const whose = ownerFor(principal, asked);
  if (which.by === "name") return store.machines.byName(whose, which.name);
  const row = await store.machines.byUid(which.uid);
  if (row === null) return null;
  const isHis = row.owner === whose || (principal.isAdmin && asked === undefined);
  return isHis ? row : null;
}

const notFound = (): HttpProblem =>
  new HttpProblem("not_found", { detail: "You have no such machine.", next: "GET /v1/machines lists those you have." });
