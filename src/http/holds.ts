import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import * as z from "zod";
import type { AppEnv } from "./app-env.ts";
import { json, problems } from "./openapi.ts";
import { requireAdmin } from "./require-admin.ts";

/** Long enough for two inventory passes to see to what was held. */
const RELEASED_MS = 45 * 60_000;

const holds = ["blast_cap", "credential", "inventory"] as const;
const route = createRoute({
  method: "post",
  path: "/v1/holds/{hold}/release",
  summary:
    "Release what sweeps hold back (admin): early deaths beyond the cap, rows of another provider token, or an inventory that lacks many",
  middleware: requireAdmin,
  request: {
    params: z.object({ hold: z.enum(holds, `must be one of ${holds.join(", ")}`) }),
    query: z.strictObject({}),
  },
  responses: {
    200: json(
      z.object({ hold: z.object({ name: z.enum(holds), released_until: z.iso.datetime().nullable() }) }),
      "Released; null = for good",
    ),
    ...problems,
  },
});

/** `POST /v1/holds/{hold}/release`. */
export function holdRoutes(app: OpenAPIHono<AppEnv>): void {
  app.openapi(route, async (c) => {
    const { store, now, credential } = c.get("scope");
    const { hold: name } = c.req.valid("param");
    c.set("outcome", "released");
    if (name === "credential") {
      await store.inventory.adoptCredentialForAll(await credential());
      return c.json({ hold: { name, released_until: null } }, 200);
    }
    const until = now() + RELEASED_MS;
    await (name === "blast_cap" ? store.settings.releaseBlastCap(until) : store.settings.releaseInventory(until));
    return c.json({ hold: { name, released_until: new Date(until).toISOString() } }, 200);
  });
}
