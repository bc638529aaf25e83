import * as z from "zod";
import { HOLDS, releaseHold } from "../lifecycle/holds.ts";
import { json, problems } from "./edge/openapi.ts";
import { requireAdmin } from "./edge/require-admin.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { timeOrNull } from "./edge/times.ts";

const route = createRoute({
  method: "post",
  path: "/v1/holds/{hold}/release",
  summary:
    "Release what sweeps hold back (admin): early deaths beyond the cap, rows of another provider token, or an inventory that lacks many",
  middleware: requireAdmin,
  request: {
    params: z.object({ hold: z.enum(HOLDS, `must be one of ${HOLDS.join(", ")}`) }),
    query: z.strictObject({}),
  },
  responses: {
    200: json(
      z.object({ hold: z.object({ name: z.enum(HOLDS), released_until: z.iso.datetime().nullable() }) }),
      "Released; null = for good",
    ),
    ...problems,
  },
});

/** `POST /v1/holds/{hold}/release`. */
export function holdRoutes(app: Api): void {
  app.openapi(route, async (c) => {
    const { hold: name } = c.req.valid("param");
    c.set("outcome", "released");
    const until = await releaseHold(c.get("scope"), name);
    return c.json({ hold: { name, released_until: timeOrNull(until) } }, 200);
  });
}
