import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import * as z from "zod";
import { addRoute, applyFirewall, attachToNetwork, removeFirewall } from "../../lifecycle/use-resource.ts";
import { isLive } from "../../machine/machine.ts";
import { isLiveResource, type ResourceKind, type ResourceRow } from "../../machine/resource.ts";
import type { Scope } from "../../invocation.ts";
import { keepAlive } from "../background.ts";
import type { AppEnv } from "../app-env.ts";
import { needsBody } from "../body.ts";
import { toJson as machineToJson } from "../machines/json.ts";
import { one as oneMachine, ownerQuery, refParam } from "../machines/shapes.ts";
import { findRow, noSuchMachine } from "../machines/owner.ts";
import { json, problems } from "../openapi.ts";
import { invalidField, unwrap } from "../problem.ts";
import { oneOf, PLURALS } from "./json.ts";
import { wrapped } from "./answers.ts";
import { findResource, machinesIn, noSuch, refIn } from "./owner.ts";

/** Each is two calls of its own to the provider. */
const MOST_MACHINES = 10;
const machines = z.array(z.string()).min(1, "must name at least one machine").max(MOST_MACHINES);

const actionRoute = <Body extends z.ZodType>(kind: ResourceKind, action: string, summary: string, schema: Body) =>
  createRoute({
    method: "post",
    path: `/v1/${PLURALS[kind]}/{ref}/${action}`,
    summary,
    middleware: needsBody,
    request: {
      params: z.object({ ref: z.string() }),
      query: ownerQuery,
      body: { content: { "application/json": { schema } }, required: true },
    },
    responses: { 200: json(oneOf(kind), "Done, or so already"), ...problems },
  });
const onMachines = z.strictObject({ machines });
const apply = actionRoute("firewall", "apply_to_resources", "Apply a firewall to machines of yours", onMachines);
const remove = actionRoute("firewall", "remove_from_resources", "Take a firewall off machines of yours", onMachines);
const route = actionRoute(
  "network",
  "add_route",
  "Lead a network's traffic over a machine in it",
  z.strictObject({ destination: z.string().meta({ example: "0.0.0.0/0" }), gateway: z.string() }),
);
const attach = createRoute({
  method: "post",
  path: "/v1/machines/{ref}/attach_to_network",
  summary: "Put a machine of yours into a network of yours",
  middleware: needsBody,
  request: {
    params: refParam,
    query: ownerQuery,
    body: { content: { "application/json": { schema: z.strictObject({ network: z.string() }) } }, required: true },
  },
  responses: { 200: json(oneMachine, "Done, or so already"), ...problems },
});

/** `apply_to_resources` and `remove_from_resources` of firewalls, `add_route` of networks, `attach_to_network` of machines. */
export function actionRoutes(app: OpenAPIHono<AppEnv>): void {
  app.openapi(apply, async (c) => {
    const row = await meant(c, "firewall", c.req.valid("param").ref, c.req.valid("query").owner);
    const users = await machinesIn(c.get("scope"), row.owner, c.req.valid("json").machines, "machines");
    return answer(c, row, (scope) => applyFirewall(scope, row, users));
  });
  app.openapi(remove, async (c) => {
    const row = await meant(c, "firewall", c.req.valid("param").ref, c.req.valid("query").owner);
    const users = await machinesIn(c.get("scope"), row.owner, c.req.valid("json").machines, "machines");
    return answer(c, row, (scope) => removeFirewall(scope, row, users));
  });
  app.openapi(route, async (c) => {
    const row = await meant(c, "network", c.req.valid("param").ref, c.req.valid("query").owner);
    return answer(c, row, (scope) => addRoute(scope, row, c.req.valid("json")));
  });
  app.openapi(attach, async (c) => {
    const scope = c.get("scope");
    const machine = await findRow(scope, c.get("principal"), c.req.valid("param").ref, c.req.valid("query").owner);
    if (machine === null || !isLive(machine)) throw noSuchMachine();
    const ref = refIn("network", c.req.valid("json").network, "network");
    const { resources } = scope.store;
    const row =
      ref.by === "name" ? await resources.byName("network", machine.owner, ref.name) : await resources.byUid(ref.uid);
    if (row?.spec.kind !== "network" || row.owner !== machine.owner || !isLiveResource(row))
      throw invalidField("network", "must be the name or id of a live network of the same owner");
    await done(c, attachToNetwork(scope, row, [machine]));
    return c.json({ machine: machineToJson(machine, scope.now()) }, 200);
  });
}

async function meant(
  c: Context<AppEnv>,
  kind: ResourceKind,
  text: string,
  asked: string | undefined,
): Promise<ResourceRow> {
  const row = await findResource(c.get("scope"), c.get("principal"), kind, refIn(kind, text, "ref"), asked);
  if (row === null || !isLiveResource(row)) throw noSuch(kind);
  return row;
}

type Work = ReturnType<typeof addRoute>;

async function done(c: Context<AppEnv>, work: Work): Promise<void> {
  keepAlive(c, work);
  unwrap(await work);
}

async function answer(c: Context<AppEnv>, row: ResourceRow, act: (scope: Scope) => Work) {
  const scope = c.get("scope");
  await done(c, act(scope));
  return c.json(await wrapped(scope, row), 200);
}
