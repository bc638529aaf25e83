import * as z from "zod";
import { liveNetwork } from "../../lifecycle/find.ts";
import { attachToNetwork } from "../../lifecycle/use-resource.ts";
import { isLive } from "../../machine/machine.ts";
import { needsBody } from "../edge/body.ts";
import { json, problems } from "../edge/openapi.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { one, toJson } from "./json.ts";
import { machineMeant, noSuchMachine } from "./meant.ts";
import { ownerQuery, refParam } from "../edge/schemas.ts";

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
  responses: {
    200: json(one, "Done, or so already"),
    202: json(one, "The provider has agreed and is still at it; the same call again tells"),
    ...problems,
  },
});

/** `POST /v1/machines/{name or id}/attach_to_network`. */
export function attachRoutes(app: Api): void {
  app.openapi(attach, async (c) => {
    const scope = c.get("scope");
    const machine = await machineMeant(c, c.req.valid("param").ref, c.req.valid("query").owner);
    if (!isLive(machine)) throw noSuchMachine();
    const network = unwrap(await liveNetwork(scope, machine.owner, c.req.valid("json").network, "network"));
    const progress = unwrap(await attachToNetwork(scope, c.get("principal").policy, network, [machine]));
    c.set("outcome", progress);
    return c.json({ machine: toJson(machine, scope.now()) }, progress === "done" ? 200 : 202);
  });
}
