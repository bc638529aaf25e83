import { refreshCreating, refreshJoining, waitWhileCreating } from "../../lifecycle/refresh.ts";
import { json, problems } from "../edge/openapi.ts";
import { listedOwner } from "../edge/owner.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { labelSelector, metaOf, ownerQuery, paging, refParam, statuses, wait } from "../edge/schemas.ts";
import { many, one, toJson } from "./json.ts";
import { machineMeant } from "./meant.ts";

const list = createRoute({
  method: "get",
  path: "/v1/machines",
  summary: "List your machines, live ones unless `status` asks for others",
  request: { query: ownerQuery.extend({ ...paging, label_selector: labelSelector.default([]), status: statuses }) },
  responses: { 200: json(many, "One page"), ...problems },
});
const get = createRoute({
  method: "get",
  path: "/v1/machines/{ref}",
  summary: "Get a machine by name or id",
  request: { params: refParam, query: ownerQuery.extend({ wait }) },
  responses: { 200: json(one, "The live machine of that name, else the last"), ...problems },
});

/** `GET /v1/machines` and `GET /v1/machines/{name or id}`. */
export function readRoutes(app: Api): void {
  app.openapi(list, async (c) => {
    const scope = c.get("scope");
    const { page, per_page: perPage, label_selector: labels, status, owner: asked } = c.req.valid("query");
    const owner = listedOwner(c, asked);
    const { rows, total } = await scope.reads.machines.list({ owner, statuses: status, labels, page, perPage });
    const fresh = await refreshCreating(scope, rows);
    const now = scope.now();
    return c.json({ machines: fresh.map((row) => toJson(row, now)), meta: metaOf(page, perPage, total) }, 200);
  });

  app.openapi(get, async (c) => {
    const scope = c.get("scope");
    const asked = c.req.valid("query");
    const row = await machineMeant(c, c.req.valid("param").ref, asked.owner);
    const [created = row] = await refreshCreating(scope, [row]);
    const fresh = await refreshJoining(scope, created);
    const waited = unwrap(await waitWhileCreating(scope, fresh, asked.wait * 1000));
    return c.json({ machine: toJson(waited, scope.now()) }, 200);
  });
}
