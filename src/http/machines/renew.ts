import * as z from "zod";
import { renewMachine } from "../../lifecycle/renew.ts";
import { needsBody } from "../edge/body.ts";
import { json, problems } from "../edge/openapi.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { duration, ownerQuery, refParam } from "../edge/schemas.ts";
import { one, toJson } from "./json.ts";
import { machineMeant } from "./meant.ts";

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
  responses: { 200: json(one, "Its lease as it is now; never earlier than it was"), ...problems },
});

/** `POST /v1/machines/{name or id}/renew`. */
export function renewRoutes(app: Api): void {
  app.openapi(renew, async (c) => {
    const scope = c.get("scope");
    const row = await machineMeant(c, c.req.valid("param").ref, c.req.valid("query").owner);
    const renewed = unwrap(await renewMachine(scope, c.get("principal"), row, c.req.valid("json").ttl));
    c.set("outcome", "renewed");
    return c.json({ machine: toJson(renewed, scope.now()) }, 200);
  });
}
