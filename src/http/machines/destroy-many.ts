import type { Context } from "hono";
import * as z from "zod";
import { destroyMany, NAMED, type Doom } from "../../lifecycle/destroy-many.ts";
import { parseDuration } from "../../machine/duration.ts";
import type { AppEnv } from "../edge/app-env.ts";
import { inBackground } from "../edge/background.ts";
import { needsBody } from "../edge/body.ts";
import { json, problems } from "../edge/openapi.ts";
import { actor } from "../edge/owner.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { duration, flag, labelSelector, ownerQuery } from "../edge/schemas.ts";
import { machineJson, toJson } from "./json.ts";

const doomed = z
  .array(machineJson)
  .meta({ description: `the oldest ${NAMED} where there are more: all of them are destroyed` });
const responses = {
  200: json(z.object({ machines: doomed, dry_run: z.boolean() }), "What would be destroyed; or nothing is"),
  202: json(z.object({ machines: doomed, dry_run: z.literal(false) }), "What is being destroyed"),
  ...problems,
};

const destroyAll = createRoute({
  method: "delete",
  path: "/v1/machines",
  summary: "Destroy those of your machines that a label_selector names",
  request: { query: ownerQuery.extend({ label_selector: labelSelector, dry_run: flag.optional() }) },
  responses,
});

const isSomeTime = (text: string): boolean => (parseDuration(text) ?? 0) > 0;
const order = z.strictObject({
  label_selector: labelSelector,
  older_than: duration
    .refine(isSomeTime, "must be longer than 0s: machines of any age go by DELETE /v1/machines?label_selector=")
    .meta({ example: "3h" }),
  dry_run: z.boolean().optional(),
});
const reap = createRoute({
  method: "post",
  path: "/v1/reap",
  summary: "Destroy those of your machines that a label_selector names and that are at least so old",
  middleware: needsBody,
  request: { query: ownerQuery, body: { content: { "application/json": { schema: order } }, required: true } },
  responses,
});

/** `DELETE /v1/machines?label_selector=`, and `POST /v1/reap`: contract A's `ReapOlderThan` over one's own machines. */
export function destroyManyRoutes(app: Api): void {
  app.openapi(destroyAll, async (c) => {
    const { owner, label_selector: labels, dry_run: dryRun = false } = c.req.valid("query");
    return destroyAllOf(c, owner, { labels, dryRun });
  });

  app.openapi(reap, async (c) => {
    const { label_selector: labels, older_than: length, dry_run: dryRun = false } = c.req.valid("json");
    const olderThanMs = parseDuration(length) ?? 0;
    return destroyAllOf(c, c.req.valid("query").owner, { labels, olderThanMs, dryRun });
  });
}

async function destroyAllOf(c: Context<AppEnv>, owner: string | undefined, doom: Doom) {
  const scope = c.get("scope");
  const { rows, work } = unwrap(await destroyMany(scope, actor(c, owner), doom));
  inBackground(c, work);
  const machines = rows.map((row) => toJson(row, scope.now()));
  if (doom.dryRun || machines.length === 0) return c.json({ machines, dry_run: doom.dryRun }, 200);
  c.set("outcome", "deleting");
  return c.json({ machines, dry_run: false as const }, 202);
}
