import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import * as z from "zod";
import { tearDown } from "../lifecycle/tear-down.ts";
import type { AppEnv } from "./app-env.ts";
import { json, problems } from "./openapi.ts";
import { machineJson, toJson as machineToJson } from "./machines/json.ts";
import { ownerQuery } from "./machines/shapes.ts";
import { ownerFor } from "./machines/whose.ts";
import { resourceJson, toJson } from "./resources/json.ts";

const route = createRoute({
  method: "post",
  path: "/v1/teardown",
  summary: "Take down all that you have: machines, then firewalls, networks and keys; `dry_run` only names it",
  request: {
    query: ownerQuery,
    body: { content: { "application/json": { schema: z.strictObject({ dry_run: z.boolean().optional() }) } } },
  },
  responses: {
    202: json(
      z.object({ machines: z.array(machineJson), resources: z.array(resourceJson), dry_run: z.boolean() }),
      "What goes, in the order in which it goes",
    ),
    ...problems,
  },
});

/** `POST /v1/teardown`. */
export function tearDownRoute(app: OpenAPIHono<AppEnv>): void {
  app.openapi(route, async (c) => {
    const scope = c.get("scope");
    const owner = ownerFor(c.get("principal"), c.req.valid("query").owner);
    // Without a body nothing was parsed, and so no default was filled in.
    const { dry_run: dryRun = false } = c.req.valid("json");
    const { machines, resources, work } = await tearDown(scope, { owner, dryRun, requestId: c.get("requestId") });
    c.executionCtx.waitUntil(work);
    c.set("outcome", "deleting");
    return c.json(
      {
        machines: machines.map((row) => machineToJson(row, scope.now())),
        resources: resources.map((row) => toJson(row, [])),
        dry_run: dryRun,
      },
      202,
    );
  });
}
