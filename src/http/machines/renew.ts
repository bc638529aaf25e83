import * as z from "zod";
import { renewMachine } from "../../lifecycle/renew.ts";
import { needsBody } from "../edge/body.ts";
import { json, problems } from "../edge/openapi.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { duration, ownerQuery, refParam } from "../edge/schemas.ts";
import { one, toJson } from "./json.ts";
import { machineMeant } from "./meant.ts";

const renewed = one.extend({
  clamped_to: z
    .enum(["max_until", "max_age", "policy"])
    .optional()
    .meta({ description: "what the end goes no further for, where less was given than asked for" }),
});
const renew = createRoute({
  method: "post",
  path: "/v1/machines/{ref}/renew",
  summary: "Move a machine's end to `ttl` from now, within its `max_until`",
  middleware: needsBody,
  request: {
    params: refParam,
    query: ownerQuery,
    body: { content: { "application/json": { schema: z.strictObject({ ttl: duration }) } }, required: true },
  },
  responses: { 200: json(renewed, "Its lease as it is now; never earlier than it was"), ...problems },
});

/** `POST /v1/machines/{name or id}/renew`. */
export function renewRoutes(app: Api): void {
  app.openapi(renew, async (c) => {
    const scope = c.get("scope");
    const row = await machineMeant(c, c.req.valid("param").ref, c.req.valid("query").owner);
    const moved = unwrap(await renewMachine(scope, c.get("principal"), row, c.req.valid("json").ttl));
    c.set("outcome", "renewed");
    const machine = toJson(moved.row, scope.now(), moved.observed);
    return c.json(moved.clampedTo === null ? { machine } : { machine, clamped_to: moved.clampedTo }, 200);
  });
}
