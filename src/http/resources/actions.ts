import type { Context } from "hono";
import * as z from "zod";
import { liveMachines } from "../../lifecycle/find.ts";
import type { Progress } from "../../lifecycle/follow-actions.ts";
import type { Outcome } from "../../lifecycle/refusal.ts";
import { addRoute, applyFirewall, removeFirewall } from "../../lifecycle/use-resource.ts";
import type { MachineRow } from "../../machine/machine.ts";
import { isLiveResource, type ResourceKind, type ResourceRow } from "../../machine/resource.ts";
import type { AppEnv } from "../edge/app-env.ts";
import { needsBody } from "../edge/body.ts";
import { json, problems } from "../edge/openapi.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { oneOf, PLURALS } from "./json.ts";
import { wrapped } from "./answers.ts";
import { noSuch, resourceMeant } from "./meant.ts";
import { ownerQuery } from "../edge/schemas.ts";

/** Each is two calls of its own to the provider. */
const MOST_MACHINES = 10;
export const machines = z.array(z.string()).min(1, "must name at least one machine").max(MOST_MACHINES);

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
    responses: {
      200: json(oneOf(kind), "Done, or so already"),
      202: json(oneOf(kind), "The provider has agreed and is still at it; the same call again tells"),
      ...problems,
    },
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
/** `apply_to_resources` and `remove_from_resources` of firewalls, `add_route` of networks. */
export function actionRoutes(app: Api): void {
  app.openapi(apply, async (c) => {
    const row = await liveOne(c, "firewall", c.req.valid("param").ref, c.req.valid("query").owner);
    const users = await usersIn(c, row, c.req.valid("json").machines);
    return answer(c, row, applyFirewall(c.get("scope"), c.get("principal").policy, row, users));
  });
  app.openapi(remove, async (c) => {
    const row = await liveOne(c, "firewall", c.req.valid("param").ref, c.req.valid("query").owner);
    const users = await usersIn(c, row, c.req.valid("json").machines);
    return answer(c, row, removeFirewall(c.get("scope"), c.get("principal").policy, row, users));
  });
  app.openapi(route, async (c) => {
    const row = await liveOne(c, "network", c.req.valid("param").ref, c.req.valid("query").owner);
    return answer(c, row, addRoute(c.get("scope"), row, c.req.valid("json")));
  });
}

async function liveOne(c: Context<AppEnv>, kind: ResourceKind, text: string, owner: string | undefined) {
  const row = await resourceMeant(c, kind, text, owner);
  if (!isLiveResource(row)) throw noSuch(kind);
  return row;
}

const usersIn = async (c: Context<AppEnv>, { owner }: ResourceRow, texts: readonly string[]): Promise<MachineRow[]> =>
  unwrap(await liveMachines(c.get("scope"), owner, texts, "machines"));

async function answer(c: Context<AppEnv>, row: ResourceRow, work: Promise<Outcome<Progress>>) {
  const progress = unwrap(await work);
  c.set("outcome", progress);
  return c.json(await wrapped(c.get("scope"), row), progress === "done" ? 200 : 202);
}
