import * as z from "zod";
import { reportJson } from "../reaper/report.ts";
import { json, problems } from "./edge/openapi.ts";
import { HttpProblem } from "./edge/problem.ts";
import { requireAdmin } from "./edge/require-admin.ts";
import { metaOf, paging, pagination } from "./edge/schemas.ts";
import { type Api, createRoute } from "./edge/route.ts";

const report = z
  .looseObject({ id: z.int().nullable() })
  .meta({ id: "Sweep", description: "What a sweep did, phase by phase" });

const post = createRoute({
  method: "post",
  path: "/v1/sweeps",
  summary: "Run a sweep now, or with `dry_run` decide everything and do nothing (admin)",
  middleware: requireAdmin,
  request: {
    query: z.strictObject({}),
    body: { content: { "application/json": { schema: z.strictObject({ dry_run: z.boolean().optional() }) } } },
  },
  responses: { 200: json(z.object({ sweep: report }), "Its report"), ...problems },
});
const list = createRoute({
  method: "get",
  path: "/v1/sweeps",
  summary: "Reports of sweeps, newest first (admin)",
  middleware: requireAdmin,
  request: { query: z.strictObject(paging) },
  responses: {
    200: json(z.object({ sweeps: z.array(report), meta: z.object({ pagination }) }), "One page"),
    ...problems,
  },
});

/** The routes of sweeps. */
export function sweepRoutes(app: Api): void {
  app.openapi(post, async (c) => {
    // Without a body nothing was parsed, and so no default was filled in.
    const { dry_run: dryRun = false } = c.req.valid("json");
    const done = await c.get("scope").sweep({ startedBy: "admin", dryRun });
    if (done === null)
      throw new HttpProblem("sweep_running", {
        detail: "A sweep is running; two never overlap.",
        next: "Repeat the call in a minute, or read its report at GET /v1/sweeps.",
      });
    return c.json({ sweep: { id: done.id, ...reportJson(done) } }, 200);
  });

  app.openapi(list, async (c) => {
    const { page, per_page: perPage } = c.req.valid("query");
    const listed = await c.get("scope").reads.sweeps.list(page, perPage);
    const shown = listed.rows.map(({ id, report: kept }) => Object.assign(kept, { id }));
    return c.json({ sweeps: shown, meta: metaOf({ page, perPage }, listed) }, 200);
  });
}
