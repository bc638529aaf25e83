import * as z from "zod";
import type { Principal } from "../auth/principal.ts";
import { findMachine } from "../lifecycle/find.ts";
import { EVENT_KINDS, tollOf, type EventRow } from "../machine/event.ts";
import { toEur } from "../machine/money.ts";
import { idOf, type Ref } from "../machine/name.ts";
import type { Scope } from "./edge/app-env.ts";
import { adminShown, hookShown, oidcShown, tokenShown } from "./edge/evidence.ts";
import { json, problems } from "./edge/openapi.ts";
import { actor, listedOwner } from "./edge/owner.ts";
import { type Api, createRoute } from "./edge/route.ts";
import {
  account,
  eventKinds,
  machineRef,
  metaOf,
  ownerQuery,
  paging,
  pagination,
  reason,
  since,
  sinceTime,
} from "./edge/schemas.ts";
import { timeOf } from "./edge/times.ts";

const word = z.discriminatedUnion("by", [
  adminShown,
  tokenShown,
  oidcShown,
  hookShown,
  z.object({ by: z.literal("sweep"), id: z.int() }),
]);

/** An event as the API shows it. What an older version did not keep is null. */
const eventJson = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    kind: z.enum([...EVENT_KINDS, "unknown"]),
    reason: z.string().nullable(),
    machine: z.object({ id: z.string(), name: z.string().nullable() }).nullable(),
    owner: z.string().nullable(),
    account: z.string().nullable(),
    evidence: word.nullable().meta({ description: "on whose word it happened" }),
    request_id: z.string().nullable(),
    provider_id: z.string().optional().meta({ description: "of a machine that no row tells of" }),
    token: z.string().optional().meta({ description: "the token that it is about" }),
    hold: z.string().optional().meta({ description: "the hold that it is about" }),
    lived_seconds: z.int().nullable().optional().meta({ description: "of an ending; null = unknown" }),
    cost_eur: z.number().nullable().optional().meta({ description: "of an ending; null = unknown, never free" }),
  })
  .meta({ id: "Event" });

const route = createRoute({
  method: "get",
  path: "/v1/events",
  summary: "What happened, newest first: to which machine, on whose word, why, and what it had cost",
  request: {
    query: ownerQuery.extend({
      ...paging,
      since: since.optional(),
      account: account.optional(),
      machine: machineRef.optional(),
      reason: reason.optional(),
      kind: eventKinds,
    }),
  },
  responses: {
    200: json(z.object({ events: z.array(eventJson), meta: z.object({ pagination }) }), "One page"),
    ...problems,
  },
});

/** `GET /v1/events`. */
export function eventRoutes(app: Api): void {
  app.openapi(route, async (c) => {
    const scope = c.get("scope");
    const { page, per_page: perPage, kind: kinds, ...asked } = c.req.valid("query");
    const filter = {
      owner: listedOwner(c, asked.owner),
      account: asked.account ?? null,
      machine: asked.machine ?? null,
      reason: asked.reason ?? null,
      since: asked.since === undefined ? null : sinceTime(asked.since, scope.now()),
      kinds,
      page,
      perPage,
    };
    const named = await scope.reads.events.list(filter);
    // What no machine was ever called may be the provider's id of one.
    const meant = named.rows.length === 0 ? await byProviderId(scope, actor(c, asked.owner), asked.machine) : null;
    const listed = meant === null ? named : await scope.reads.events.list({ ...filter, machine: meant });
    return c.json({ events: listed.rows.map(toJson), meta: metaOf({ page, perPage }, listed) }, 200);
  });
}

async function byProviderId(scope: Scope, principal: Principal, ref: Ref | undefined): Promise<Ref | null> {
  if (ref?.by !== "name") return null;
  const row = await findMachine(scope, principal, ref);
  return row === null || row.name === ref.name ? null : { by: "uid", uid: row.uid };
}

function toJson(row: EventRow): z.infer<typeof eventJson> {
  const { token, hold, providerId } = row.detail;
  const toll = tollOf(row);
  return {
    id: row.id,
    at: timeOf(row.at),
    kind: row.kind,
    reason: row.reason,
    machine: row.uid === null ? null : { id: idOf(row.uid), name: row.name },
    owner: row.owner,
    account: row.account,
    evidence: row.word,
    request_id: row.requestId,
    ...(providerId === undefined ? {} : { provider_id: providerId }),
    ...(token === undefined ? {} : { token }),
    ...(hold === undefined ? {} : { hold }),
    ...(toll === null ? {} : tollJson(toll)),
  };
}

const tollJson = ({ livedMs, costMicroEur }: NonNullable<ReturnType<typeof tollOf>>) => ({
  lived_seconds: livedMs === null ? null : Math.floor(livedMs / 1000),
  cost_eur: toEur(costMicroEur),
});
