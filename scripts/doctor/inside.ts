// What only its admin is told: who may do what, what Hetzner offers at what price, and how sweeps get on.
import * as z from "zod";
import type { Api } from "./api.ts";
import { bad, ok, warn, type Finding } from "./finding.ts";

const HOUR_MS = 3_600_000;
/** It is asked for anew after ten minutes; where the provider does not answer, the old one serves. */
const OLDEST_CATALOGUE_MS = HOUR_MS;

const who = z.object({
  whoami: z.looseObject({
    kind: z.string(),
    policy: z.looseObject({
      name: z.string(),
      may: z.array(z.string()),
      longest: z.string(),
    }),
  }),
});

/** Whether the token is the admin's, and what policy says; without it the rest cannot be asked. */
export async function callerFindings(api: Api): Promise<{ readonly isAdmin: boolean; readonly findings: Finding[] }> {
  const told = await api("/v1/whoami", who);
  if (!told.ok) {
    const what =
      "MAYFLY_TOKEN is not taken. The admin's is ADMIN_TOKEN; npm run deploy -- --replace ADMIN_TOKEN makes another";
    return { isAdmin: false, findings: [bad("token", told.status === 401 ? what : told.why)] };
  }
  const { kind, policy } = told.value.whoami;
  if (kind !== "admin")
    return { isAdmin: false, findings: [bad("token", `MAYFLY_TOKEN is no admin's (${kind}): take ADMIN_TOKEN`)] };
  return { isAdmin: true, findings: [ok("token", "the admin's"), policyFinding(policy)] };
}

function policyFinding({ name, may, longest }: z.infer<typeof who>["whoami"]["policy"]): Finding {
  if (may.length === 0)
    return warn("policies", `\`${name}\` lets not even the admin make anything: creates are refused`);
  return ok("policies", `\`${name}\` holds for the admin: ${may.join(", ")}, for ${longest} at most`);
}

const catalogue = z.object({
  server_types: z.array(
    z.looseObject({ name: z.string(), region: z.string(), price_eur_per_hour: z.number().nullable() }),
  ),
  observed_at: z.string(),
});
const usage = z.object({
  usage: z.looseObject({ currency: z.string(), cost_eur: z.number().nullable(), machines_live: z.number() }),
});
const price = z.object({ pricing: z.looseObject({ with_ipv4_eur_per_hour: z.number().nullable() }) });

/** What Hetzner lets mayfly see, and whether prices are told. That the token writes is tried by a deploy that sets it. */
export async function offerFindings(api: Api, now: number): Promise<Finding[]> {
  const told = await api("/v1/server_types", catalogue);
  if (!told.ok)
    return [bad("hetzner", `${told.why} If HCLOUD_TOKEN has ended: npm run deploy -- --replace HCLOUD_TOKEN`)];
  const { server_types: types, observed_at: at } = told.value;
  const seen = `${types.length} types to be had, as seen at ${at}`;
  const age = now - Date.parse(at);
  return [
    types.length === 0
      ? bad("hetzner", "nothing is to be had there: look at the project in Hetzner's console")
      : age > OLDEST_CATALOGUE_MS
        ? warn(
            "hetzner",
            `${seen}, and not since: does Hetzner answer, and is HCLOUD_TOKEN still good? npm run deploy -- --replace HCLOUD_TOKEN tries another`,
          )
        : ok("hetzner", seen),
    ...(await priceFindings(api, types)),
  ];
}

async function priceFindings(api: Api, types: z.infer<typeof catalogue>["server_types"]): Promise<Finding[]> {
  const used = await api("/v1/usage", usage);
  if (!used.ok) return [bad("currency", used.why)];
  const { currency, cost_eur: cost, machines_live: live } = used.value.usage;
  const unpriced = types.filter(({ price_eur_per_hour: known }) => known === null).length;
  const [first] = types;
  const [asked] =
    first === undefined ? [] : [await api(`/v1/pricing?region=${first.region}&server_type=${first.name}`, price)];
  const example =
    asked?.ok === true
      ? `${first?.name} in ${first?.region}: ${asked.value.pricing.with_ipv4_eur_per_hour ?? "?"} ${currency} an hour`
      : asked?.why;
  return [
    unpriced === types.length && types.length > 0
      ? bad("prices", `none is known in ${currency}: set CURRENCY in wrangler.toml to that in which Hetzner bills you`)
      : unpriced > 0
        ? warn("prices", `${unpriced} of ${types.length} types have none, and count as the dearest; ${example}`)
        : ok("prices", example ?? "nothing to be priced"),
    ok("currency", `${currency}; this month has cost ${cost ?? "nobody knows what"} so far, ${live} machines live`),
  ];
}

const sweeps = z.object({
  sweeps: z.array(
    z.looseObject({
      started_at: z.string(),
      phases: z.array(
        z.looseObject({ phase: z.string(), why_remaining: z.string().nullable(), failure: z.string().nullable() }),
      ),
    }),
  ),
});
const LOOKED_AT = 20;

/** How sweeps of the last day got on, and whether the plan gives them enough. */
export async function sweepFindings(api: Api, plan: string, now: number): Promise<Finding[]> {
  const told = await api(`/v1/sweeps?per_page=${LOOKED_AT}`, sweeps);
  if (!told.ok) return [bad("sweeps", told.why)];
  const recent = told.value.sweeps.filter(({ started_at: at }) => now - Date.parse(at) < 24 * HOUR_MS);
  const failures = recent.flatMap(({ phases }) =>
    phases.flatMap(({ phase, failure }) => (failure === null ? [] : [`${phase}: ${failure}`])),
  );
  const short = recent.filter(({ phases }) => phases.some(({ why_remaining: why }) => why === "budget")).length;
  const [newest] = failures;
  return [
    newest === undefined
      ? ok("sweeps", `none of the last ${recent.length} with news failed`)
      : warn("sweeps", `${failures.length} phases failed of late, the newest ${newest}. GET /v1/sweeps tells more`),
    short === 0
      ? ok("plan", `${plan}: its limits were enough for every sweep`)
      : warn(
          "plan",
          `${short} of the last ${recent.length} sweeps left work to the next one, for ${plan} gives no more: PLAN = "paid", with Workers Paid, gives more`,
        ),
  ];
}
