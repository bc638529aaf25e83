import * as z from "zod";
import { configName } from "../auth/issuers.ts";
import { DELIVERY_ACTS, DELIVERY_STATES, type DeliveryRow } from "../machine/delivery.ts";
import { idOf } from "../machine/name.ts";
import { json, problems } from "./edge/openapi.ts";
import { requireAdmin } from "./edge/require-admin.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { metaOf, paging, pagination } from "./edge/schemas.ts";
import { timeOf, timeOrNull } from "./edge/times.ts";

const time = z.iso.datetime();
const deliveryJson = z
  .object({
    hook: z.string(),
    delivery: z.string(),
    rule: z.int().nullable(),
    source: z.string().nullable().meta({ description: "the id of the repository or project" }),
    owner: z.string(),
    do: z.enum(DELIVERY_ACTS),
    name: z.string(),
    machine: z.string().nullable().meta({ description: "that it made, renewed or ended" }),
    state: z.enum(DELIVERY_STATES),
    reason: z.string().nullable().meta({ description: "why it was not carried out, or not yet" }),
    detail: z.string().nullable(),
    ranked_at: time.meta({ description: "when the fact was so" }),
    received_at: time,
    finished_at: time.nullable(),
    attempts: z.int(),
    next_try_at: time.nullable(),
  })
  .meta({ id: "Delivery" });

const list = createRoute({
  method: "get",
  path: "/v1/hooks",
  summary: "What events have asked for, newest first: what came of it, or why nothing (admin)",
  middleware: requireAdmin,
  request: {
    query: z.strictObject({
      ...paging,
      hook: configName.optional(),
      state: z.enum(DELIVERY_STATES, `must be one of ${DELIVERY_STATES.join(", ")}`).optional(),
    }),
  },
  responses: {
    200: json(z.object({ deliveries: z.array(deliveryJson), meta: z.object({ pagination }) }), "One page"),
    ...problems,
  },
});

/** `GET /v1/hooks`. */
export function deliveryRoutes(app: Api): void {
  app.openapi(list, async (c) => {
    const { page, per_page: perPage, hook = null, state = null } = c.req.valid("query");
    const listed = await c.get("scope").reads.deliveries.list(hook, state, page, perPage);
    return c.json({ deliveries: listed.rows.map(toJson), meta: metaOf({ page, perPage }, listed) }, 200);
  });
}

const toJson = (row: DeliveryRow): z.infer<typeof deliveryJson> => ({
  hook: row.hook,
  delivery: row.delivery,
  rule: row.rule,
  source: row.source,
  owner: row.owner,
  do: row.act,
  name: row.name,
  machine: row.machineUid && idOf(row.machineUid),
  state: row.state,
  reason: row.reason,
  detail: row.detail,
  ranked_at: timeOf(row.rank),
  received_at: timeOf(row.receivedAt),
  finished_at: timeOrNull(row.finishedAt),
  attempts: row.attempts,
  next_try_at: timeOrNull(row.nextTryAt),
});
