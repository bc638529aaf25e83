import * as z from "zod";
import { MAKEABLE } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { LendingRules } from "../lifecycle/context.ts";
import { mostOf } from "../lifecycle/limits.ts";
import { longestOf, profilesOf } from "../lifecycle/rights.ts";
import { existingText } from "../machine/attachment.ts";
import { toEur } from "../machine/money.ts";
import { formatDuration } from "../machine/duration.ts";
import { adminShown, hookShown, oidcShown, tokenShown } from "./edge/evidence.ts";
import { json, problems } from "./edge/openapi.ts";
import { actor } from "./edge/owner.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { ownerQuery } from "./edge/schemas.ts";

const patterns = z.array(z.string()).readonly().nullable().meta({ description: "patterns; null = any" });

const existing = z.array(z.string()).meta({
  description: "those of the provider's project that machines may use, beside one's own",
  example: ["id:4711"],
});

const eur = z.number().nullable();

const policyJson = z
  .object({
    name: z.string(),
    source: z.string().meta({ description: "the line that says so" }),
    may: z.array(z.enum(MAKEABLE)).readonly(),
    machines: z
      .int()
      .nullable()
      .meta({ description: "how many its account may have at once; null = as many as there may be" }),
    eur_per_hour: eur.meta({ description: "what an hour of its account's machines may cost; null = no such limit" }),
    eur_per_month: eur.meta({ description: "what they may cost in a calendar month (UTC), what is reserved included" }),
    unknown_price: z.boolean().meta({ description: "whether what has no known price passes these limits" }),
    longest: z.string().meta({ example: "24h", description: "how long a lease may be, renewals included" }),
    server_types: patterns,
    regions: patterns,
    images: patterns,
    profiles: z.array(z.string()).meta({ description: "those of the configuration that may be named" }),
    firewalls: existing,
    networks: existing,
    only_profiles: z.boolean(),
    cloud_init: z.boolean(),
    needs_firewall: z.boolean(),
  })
  .meta({ id: "Policy" });

const evidence = z.discriminatedUnion("by", [
  adminShown,
  tokenShown.extend({ note: z.string() }),
  oidcShown,
  hookShown,
]);

const whoamiJson = z
  .object({
    kind: z.enum(["admin", "token", "oidc", "hook"]),
    owner: z.string(),
    account: z.string(),
    policy: policyJson,
    evidence,
    address: z
      .string()
      .nullable()
      .meta({ description: "the caller's, as the edge sees it; null where that is unknown" }),
  })
  .meta({ id: "Caller" });

const route = createRoute({
  method: "get",
  path: "/v1/whoami",
  summary: "Who you are here, and what your policy lets you do",
  request: { query: ownerQuery },
  responses: {
    200: json(z.object({ whoami: whoamiJson }), "The caller; for an admin the owner that it names"),
    ...problems,
  },
});

/** `GET /v1/whoami`. It asks nobody: what is answered is what the caller was let in with. */
export function whoamiRoute(app: Api): void {
  app.openapi(route, async (c) => {
    const caller = actor(c, c.req.valid("query").owner);
    const { kind, owner, account, evidence: shown } = caller;
    const { rules } = c.get("scope");
    const address = addressIn(c.req.header("CF-Connecting-IP"));
    const whoami = { kind, owner, account, policy: toJson(caller, rules), evidence: shown, address };
    return c.json({ whoami }, 200);
  });
}

/** A policy in the configuration's words and units. */
function toJson({ kind, policy }: Principal, rules: LendingRules): z.infer<typeof policyJson> {
  const most = mostOf({ kind, policy }, rules);
  return {
    name: policy.name,
    source: policy.source,
    may: policy.may,
    machines: most.machines,
    eur_per_hour: toEur(most.microEurPerHour),
    eur_per_month: toEur(most.microEurPerMonth),
    unknown_price: policy.takesUnknownPrice,
    longest: formatDuration(longestOf(policy, rules)),
    server_types: policy.serverTypes,
    regions: policy.regions,
    images: policy.images,
    profiles: [...profilesOf(policy, rules.profiles).keys()].toSorted(),
    firewalls: policy.existing.firewall.map(existingText),
    networks: policy.existing.network.map(existingText),
    only_profiles: policy.onlyProfiles,
    cloud_init: policy.takesCloudInit,
    needs_firewall: policy.needsFirewall,
  };
}

const address = z.union([z.ipv4(), z.ipv6()]);
/** Away from the edge anybody may have written the header, and anything may stand in it. */
const addressIn = (header: string | undefined): string | null => address.safeParse(header).data ?? null;
