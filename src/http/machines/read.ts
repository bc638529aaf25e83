import type * as z from "zod";
import { findToShow } from "../../lifecycle/find.ts";
import { lookAgain } from "../../lifecycle/look-again.ts";
import { refreshCreating, refreshShown, waitWhileCreating } from "../../lifecycle/refresh.ts";
import { idOf } from "../../machine/name.ts";
import { isOfEnded, type MachineFilter } from "../../store/machine-filter.ts";
import type { Whose } from "../../store/whose.ts";
import { json, problems } from "../edge/openapi.ts";
import { actor, listedOwner } from "../edge/owner.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import {
  labelSelector,
  metaOf,
  ownerQuery,
  paging,
  reason,
  refParam,
  since,
  sinceTime,
  statuses,
  wait,
} from "../edge/schemas.ts";
import { many, one, toJson } from "./json.ts";
import { noSuchMachine } from "./meant.ts";

const ENDED_ONLY = "must be left out unless `status` is destroyed: it is about ends";

export const listQuery = ownerQuery
  .extend({
    ...paging,
    label_selector: labelSelector.optional(),
    status: statuses,
    since: since.optional(),
    reason: reason.optional(),
  })
  .superRefine(({ status, since: from, reason: why }, context) => {
    if (isOfEnded({ statuses: status })) return;
    for (const [field, value] of Object.entries({ since: from, reason: why }))
      if (value !== undefined) context.addIssue({ code: "custom", path: [field], message: ENDED_ONLY });
  });

/** The machines of `owner` that a list means at `now`, unix milliseconds. */
export const filterOf = (
  { page, per_page: perPage, label_selector: labels = [], status, ...ended }: z.output<typeof listQuery>,
  owner: Whose | null,
  now: number,
): MachineFilter => ({
  owner,
  statuses: status,
  labels,
  endedSince: ended.since && sinceTime(ended.since, now),
  reason: ended.reason,
  page,
  perPage,
});

const list = createRoute({
  method: "get",
  path: "/v1/machines",
  summary: "List your machines, live ones unless `status` asks for others; those that have ended newest first",
  request: { query: listQuery },
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
    const asked = c.req.valid("query");
    const filter = filterOf(asked, listedOwner(c, asked.owner), scope.now());
    const listed = await scope.reads.machines.list(filter);
    const fresh = await refreshCreating(scope, listed.rows);
    const now = scope.now();
    return c.json({ machines: fresh.map((row) => toJson(row, now)), meta: metaOf(filter, listed) }, 200);
  });

  app.openapi(get, async (c) => {
    const scope = c.get("scope");
    const asked = c.req.valid("query");
    const shown = await findToShow(scope, actor(c, asked.owner), c.req.valid("param").ref);
    if (shown === null) throw noSuchMachine();
    c.set("machine", idOf(shown.row.uid));
    const fresh = await refreshShown(scope, shown);
    const waited = unwrap(await waitWhileCreating(scope, fresh, asked.wait * 1000));
    const { row, observed } = await lookAgain(scope, waited);
    return c.json({ machine: toJson(row, scope.now(), observed) }, 200);
  });
}
