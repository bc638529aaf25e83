import * as z from "zod";
import { NAMED } from "../lifecycle/destroy-many.ts";
import { tearDown, type TearDown } from "../lifecycle/tear-down.ts";
import type { Scope } from "./edge/app-env.ts";
import { inBackground } from "./edge/background.ts";
import { needsBody } from "./edge/body.ts";
import { json, problems } from "./edge/openapi.ts";
import { machineJson, toJson as machineToJson } from "./machines/json.ts";
import { actor } from "./edge/owner.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { shown } from "./resources/answers.ts";
import { resourceJson } from "./resources/json.ts";
import { ownerQuery } from "./edge/schemas.ts";

/** What goes, in the order in which it goes. */
export const all = z.object({
  machines: z.array(machineJson).meta({ description: `the oldest ${NAMED} where there are more: all of them go` }),
  resources: z.array(resourceJson).meta({ description: `the first ${NAMED} where there are more: all of them go` }),
});
const route = createRoute({
  method: "post",
  path: "/v1/teardown",
  summary: "Take down all that you have: machines, then firewalls, networks and keys; `dry_run` only names it",
  middleware: needsBody,
  request: {
    query: ownerQuery,
    body: {
      content: { "application/json": { schema: z.strictObject({ dry_run: z.boolean().optional() }) } },
      required: true,
    },
  },
  responses: {
    200: json(all.extend({ dry_run: z.literal(true) }), "What would go, in the order in which it would go"),
    202: json(all.extend({ dry_run: z.literal(false) }), "What goes, in the order in which it goes"),
    ...problems,
  },
});

/** `POST /v1/teardown`. */
export function tearDownRoute(app: Api): void {
  app.openapi(route, async (c) => {
    const scope = c.get("scope");
    const principal = actor(c, c.req.valid("query").owner);
    const { dry_run: dryRun = false } = c.req.valid("json");
    const torn = await tearDown(scope, principal, dryRun);
    inBackground(c, torn.work);
    c.set("outcome", "deleting");
    const named = await allOf(scope, torn);
    return dryRun
      ? c.json({ ...named, dry_run: true as const }, 200)
      : c.json({ ...named, dry_run: false as const }, 202);
  });
}

/** What goes, as the API shows it. */
export const allOf = async (scope: Scope, { machines, resources }: TearDown) => ({
  machines: machines.map((row) => machineToJson(row, scope.now())),
  resources: await shown(scope, resources),
});
