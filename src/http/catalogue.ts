import * as z from "zod";
import { pricesOf, readCatalogue } from "../lifecycle/catalogue.ts";
import { sumEur, type Prices } from "../machine/money.ts";
import { orderable, type Orderable } from "../machine/server-type.ts";
import { json, problems } from "./edge/openapi.ts";
import { unwrap } from "./edge/problem.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { providerWord } from "./edge/schemas.ts";
import { timeOf } from "./edge/times.ts";

const eur = z.number().nullable();
const pricesJson = z.object({
  price_eur_per_hour: eur.meta({ description: "the server type alone, gross; null = unknown, never free" }),
  price_eur_per_month: eur.meta({ description: "the most that its hours of a calendar month (UTC) come to" }),
  ipv4_eur_per_hour: eur.meta({ description: "a public IPv4 address, which a machine has unless it says otherwise" }),
  ipv4_eur_per_month: eur,
  with_ipv4_eur_per_hour: eur.meta({ description: "both together" }),
  with_ipv4_eur_per_month: eur,
});
const serverTypeJson = z
  .object({
    name: z.string(),
    region: z.string(),
    arch: z.string(),
    cores: z.number(),
    memory_gb: z.number(),
    ...pricesJson.shape,
  })
  .meta({ id: "ServerType" });
const serverTypes = createRoute({
  method: "get",
  path: "/v1/server_types",
  summary: "What can be ordered now, as the provider last said; only a create really tells",
  request: {
    query: z.strictObject({
      region: providerWord.optional(),
      arch: z.enum(["amd64", "arm64"], "must be amd64 or arm64").optional(),
    }),
  },
  responses: {
    200: json(z.object({ server_types: z.array(serverTypeJson), observed_at: z.iso.datetime() }), "By name and region"),
    ...problems,
  },
});
const pricing = createRoute({
  method: "get",
  path: "/v1/pricing",
  summary: "What a server type costs in a region, and a public IPv4 address there",
  request: { query: z.strictObject({ region: providerWord, server_type: providerWord }) },
  responses: {
    200: json(
      z.object({
        pricing: z.object({ region: z.string(), server_type: z.string(), ...pricesJson.shape }).meta({ id: "Price" }),
      }),
      "Its price",
    ),
    ...problems,
  },
});

/** `GET /v1/server_types` and `GET /v1/pricing`. */
export function catalogueRoutes(app: Api): void {
  app.openapi(serverTypes, async (c) => {
    const scope = c.get("scope");
    const { region = null, arch = null } = c.req.valid("query");
    const { serverTypes: types, fetchedAt } = unwrap(await readCatalogue(scope));
    const shown = orderable(types, scope.now(), { region, arch }).map(toTypeJson);
    return c.json({ server_types: shown, observed_at: timeOf(fetchedAt) }, 200);
  });

  app.openapi(pricing, async (c) => {
    const { region, server_type: serverType } = c.req.valid("query");
    const prices = unwrap(await pricesOf(c.get("scope"), region, serverType));
    return c.json({ pricing: { region, server_type: serverType, ...toPricesJson(prices) } }, 200);
  });
}

const toTypeJson = (one: Orderable): z.infer<typeof serverTypeJson> => ({
  name: one.name,
  region: one.region,
  arch: one.arch,
  cores: one.cores,
  memory_gb: one.memoryGb,
  ...toPricesJson(one),
});

const toPricesJson = (prices: Prices): z.infer<typeof pricesJson> => ({
  price_eur_per_hour: prices.priceEurPerHour,
  price_eur_per_month: prices.priceEurPerMonth,
  ipv4_eur_per_hour: prices.ipv4EurPerHour,
  ipv4_eur_per_month: prices.ipv4EurPerMonth,
  with_ipv4_eur_per_hour: sumEur(prices.priceEurPerHour, prices.ipv4EurPerHour),
  with_ipv4_eur_per_month: sumEur(prices.priceEurPerMonth, prices.ipv4EurPerMonth),
});
