import * as z from "zod";
import { priceOf, readCatalogue } from "../lifecycle/catalogue.ts";
import { orderable } from "../machine/server-type.ts";
import { json, problems } from "./edge/openapi.ts";
import { unwrap } from "./edge/problem.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { providerWord } from "./edge/schemas.ts";

const serverTypeJson = z.object({
  name: z.string(),
  region: z.string(),
  arch: z.string(),
  cores: z.number(),
  memory_gb: z.number(),
  price_eur_per_hour: z.number().nullable().meta({ description: "gross; null = unknown, never free" }),
});
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
  summary: "What a server type costs in a region",
  request: { query: z.strictObject({ region: providerWord, server_type: providerWord }) },
  responses: {
    200: json(
      z.object({
        pricing: serverTypeJson.pick({ region: true, price_eur_per_hour: true }).extend({ server_type: z.string() }),
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
    const shown = orderable(types, scope.now(), { region, arch }).map((one) => ({
      name: one.name,
      region: one.region,
      arch: one.arch,
      cores: one.cores,
      memory_gb: one.memoryGb,
      price_eur_per_hour: one.priceEurPerHour,
    }));
    return c.json({ server_types: shown, observed_at: new Date(fetchedAt).toISOString() }, 200);
  });

  app.openapi(pricing, async (c) => {
    const { region, server_type: serverType } = c.req.valid("query");
    const price = unwrap(await priceOf(c.get("scope"), region, serverType));
    return c.json({ pricing: { region, server_type: serverType, price_eur_per_hour: price } }, 200);
  });
}
