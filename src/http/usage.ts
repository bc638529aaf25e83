import * as z from "zod";
import { readUsage } from "../lifecycle/usage.ts";
import { monthOf, toEur } from "../machine/money.ts";
import { USAGE_PARTS, type Usage, type UsageEntry, type UsagePart } from "../machine/usage.ts";
import { json, problems } from "./edge/openapi.ts";
import { countedOf } from "./edge/owner.ts";
import { unwrap } from "./edge/problem.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { account, ownerQuery } from "./edge/schemas.ts";

const eur = z.number().nullable();
const hours = z.int().meta({ description: "started hours, as they are charged" });
const entry = z.object({
  owner: z.string().optional(),
  server_type: z.string().optional(),
  day: z.string().optional().meta({ example: "2026-11-30", description: "UTC" }),
  month: z.string().optional().meta({
    example: "2026-11",
    description: "in place of `day`: of days older than KEEP_HISTORY the month's sum is kept",
  }),
  hours,
  cost_eur: eur,
});

const usageJson = z
  .object({
    month: z.string().meta({ example: "2026-11", description: "UTC" }),
    account: z.string().nullable().meta({ description: "null = of every account" }),
    owner: z.string().nullable().meta({ description: "null = of every owner" }),
    currency: z.string().meta({ example: "EUR", description: "of all amounts, whatever their names say" }),
    hours,
    cost_eur: eur.meta({ description: "so far, gross; null = unknown, never free" }),
    estimated_eur: eur.meta({ description: "what of it was counted at the dearest known price, for want of another" }),
    reserved_eur: eur.meta({
      description: "what live machines will have cost beyond that in this month when they end as promised",
    }),
    machines_live: z.int(),
    entries: z.array(entry).meta({ description: "the dearest first, days in their order" }),
    more_entries: z.int().meta({ description: "so many more were left out" }),
  })
  .meta({ id: "Usage" });

const MOST_ENTRIES = 500;

const monthRule = "must be a month like 2026-11";
const month = z.string(monthRule).regex(/^[2-9]\d{3}-(0[1-9]|1[0-2])$/, monthRule);
const by = z.enum(USAGE_PARTS, `must be one of ${USAGE_PARTS.join(", ")}`).default("day");

const route = createRoute({
  method: "get",
  path: "/v1/usage",
  summary: "What machines have cost in a month: of your account, or of you alone; an admin asks for all",
  request: { query: ownerQuery.extend({ month: month.optional(), account: account.optional(), by }) },
  responses: { 200: json(z.object({ usage: usageJson }), "The month's sums, and their parts"), ...problems },
});

/** `GET /v1/usage`. */
export function usageRoute(app: Api): void {
  app.openapi(route, async (c) => {
    const scope = c.get("scope");
    const { by: part, ...said } = c.req.valid("query");
    const { shown, ...counted } = countedOf(c, said);
    const asked = { month: said.month ?? monthOf(scope.now()), part, ...counted };
    const usage = unwrap(await readUsage(scope, asked));
    const isShown = ({ key }: UsageEntry) => part !== "owner" || shown === null || key === shown;
    const { month: named, account: ofAccount, owner } = asked;
    return c.json(
      {
        usage: {
          month: named,
          account: ofAccount,
          owner,
          currency: scope.rules.currency,
          ...toJson(usage, part, isShown),
        },
      },
      200,
    );
  });
}

function toJson(usage: Usage, part: UsagePart, isShown: (entry: UsageEntry) => boolean) {
  const entries = usage.entries.filter(isShown);
  return {
    hours: usage.hours,
    cost_eur: toEur(usage.microEur),
    estimated_eur: toEur(usage.estimatedMicroEur),
    reserved_eur: toEur(usage.reservedMicroEur),
    machines_live: usage.liveMachines,
    entries: entries.slice(0, MOST_ENTRIES).map((one) => ({
      [part === "day" && one.key.length === MONTH_CHARACTERS ? "month" : part]: one.key,
      hours: one.hours,
      cost_eur: toEur(one.microEur),
    })),
    more_entries: Math.max(0, entries.length - MOST_ENTRIES),
  };
}
const MONTH_CHARACTERS = "2026-11".length;
