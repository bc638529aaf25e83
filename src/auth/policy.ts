/**
 * What a policy is: the one thing that grants. Every caller has one; `lifecycle/` enforces what it forbids, whichever way a call came.
 */
import * as z from "zod";
import { EXISTING_RULE, parseExisting } from "../machine/attachment.ts";
import { DURATION_RULE, parseDuration } from "../machine/duration.ts";
import { toMicroEur } from "../machine/money.ts";
import { configName, digits, stableIdsOf, type Issuer } from "./issuers.ts";
import { isSpeltOut } from "./pattern.ts";

/** What callers may make. Reading, renewing and ending what is their own is never refused. */
export const MAKEABLE = ["machines", "ssh_keys", "firewalls", "networks", "snapshots"] as const;
export type Makeable = (typeof MAKEABLE)[number];

/** Who may do what. Patterns as in `pattern.ts`; null = any. */
export interface Policy {
  readonly name: string;
  /** Where it is written, for whoever asks which line says so. */
  readonly source: string;
  /** Whose tokens it takes; null = minted tokens, and the admin's. */
  readonly issuer: string | null;
  /** All must hold; each by one of its patterns. */
  readonly claims: Readonly<Record<string, readonly string[]>>;
  /** Whether what one run made is within reach of the next: the owner is the repository under this policy, not the run. */
  readonly hasWideOwner: boolean;
  /** Whether limits count over all who come under this policy; else over each source (repository, project, owner of a token). */
  readonly hasOwnAccount: boolean;
  /** Whether events pass in which a fork's code may run with the rights of the repository. */
  readonly takesPrivilegedEvents: boolean;
  readonly may: readonly Makeable[];
  /** How long a lease may be and come to by renewals, in milliseconds; null = `MAX_AGE`. */
  readonly longestMs: number | null;
  readonly serverTypes: readonly string[] | null;
  readonly regions: readonly string[] | null;
  readonly images: readonly string[] | null;
  readonly profiles: readonly string[] | null;
  /** Firewalls and networks of the provider's project that machines may use, by the provider's ids. No patterns, and none by default. */
  readonly existing: { readonly firewall: readonly string[]; readonly network: readonly string[] };
  /** Whether a machine is asked for by a profile alone. */
  readonly onlyProfiles: boolean;
  /** Whether callers may send a cloud-init of their own. */
  readonly takesCloudInit: boolean;
  readonly needsFirewall: boolean;
  /** How many machines its account may have at once; null = as many as `default` says, and that `MAX_MACHINES`. */
  readonly mostMachines: number | null;
  /** What an hour of its account's machines may cost, micro-EUR; null = as much as `default` says, and that no such limit. */
  readonly mostMicroEurPerHour: number | null;
  /** The same of a calendar month (UTC); null = as much as `default` says, and that `MAX_EUR_PER_MONTH`. */
  readonly mostMicroEurPerMonth: number | null;
  /** Whether what has no known price passes a limit in euro; it counts as the dearest known. */
  readonly takesUnknownPrice: boolean;
}

/** The policy of tokens that name none, and of the admin, where the configuration has none of that name. */
export const DEFAULT_POLICY: Policy = {
  name: "default",
  source: "built in",
  issuer: null,
  claims: {},
  hasWideOwner: false,
  hasOwnAccount: false,
  takesPrivilegedEvents: false,
  may: MAKEABLE,
  longestMs: null,
  serverTypes: null,
  regions: null,
  images: null,
  profiles: null,
  existing: { firewall: [], network: [] },
  onlyProfiles: false,
  takesCloudInit: true,
  needsFirewall: false,
  mostMachines: null,
  mostMicroEurPerHour: null,
  mostMicroEurPerMonth: null,
  takesUnknownPrice: false,
};

/** The policy of that name among those that tokens can have; null where there is none. */
export const tokenPolicy = (policies: readonly Policy[], name: string): Policy | null =>
  policies.find((one) => one.name === name && one.issuer === null) ?? (name === "default" ? DEFAULT_POLICY : null);

const text = z.string("must be text").min(1, "must not be empty");
const patterns = z.array(text, "must be a list of patterns").min(1, "must name at least one").optional();
const existing = z
  .array(z.string(EXISTING_RULE), "must be a list")
  .transform((texts, context) =>
    texts.map((given, index) => {
      const id = parseExisting(given, "");
      if (id?.ok === true) return id.value;
      context.addIssue({ code: "custom", path: [index], message: EXISTING_RULE });
      return z.NEVER;
    }),
  )
  .optional();
const value = z
  .union([text, z.number(), z.boolean()], "must be text, a number, true or false")
  .refine(
    (given) => typeof given !== "number" || !Number.isInteger(given) || Number.isSafeInteger(given),
    "must stand in quotes: numbers of that size are not told apart",
  );
const claim = z
  .union([value, z.array(value).min(1, "must name at least one value")], "must be a value or a list of values")
  .transform((given) => [given].flat().map(String));
/** A length of life, as it is written in configurations and events. */
export const leaseText = z
  .string(DURATION_RULE)
  .refine((given) => (parseDuration(given) ?? 0) >= 60_000, `${DURATION_RULE}, of 60s at least`);
const flag = z.boolean("must be true or false").optional();
const eur = z
  .number("must be a number of EUR")
  .min(0, "must be 0 or more")
  .max(999_999.99, "must be at most 999999.99")
  .optional();

/** An entry of `policies`, as it is written. */
export const policyEntry = z.strictObject({
  name: configName,
  issuer: text.optional(),
  claims: z.record(z.string(), claim, "must be an object of claims").optional(),
  owner: z.enum(["run", "repository", "pipeline", "project"], "must be run or repository").optional(),
  account: z.enum(["repository", "project", "owner", "policy"], "must be repository, owner or policy").optional(),
  privileged_events: flag,
  may: z.array(z.enum(MAKEABLE, `must be of ${MAKEABLE.join(", ")}`), "must be a list").optional(),
  longest: leaseText.optional(),
  server_types: patterns,
  regions: patterns,
  images: patterns,
  profiles: patterns,
  firewalls: existing,
  networks: existing,
  only_profiles: flag,
  cloud_init: flag,
  needs_firewall: flag,
  machines: z.int("must be a whole number").min(0, "must be 0 or more").optional(),
  eur_per_hour: eur,
  eur_per_month: eur,
  unknown_price: flag,
});

export type PolicyEntry = z.input<typeof policyEntry>;
type Read = z.output<typeof policyEntry>;

/** An entry that has been read, in the words of the code. */
export const policyOf = (entry: Read, source: string): Policy => ({
  name: entry.name,
  source,
  issuer: entry.issuer ?? null,
  claims: entry.claims ?? {},
  hasWideOwner: entry.owner === "repository" || entry.owner === "project",
  hasOwnAccount: entry.account === "policy",
  takesPrivilegedEvents: entry.privileged_events ?? false,
  may: entry.may ?? MAKEABLE,
  longestMs: entry.longest === undefined ? null : parseDuration(entry.longest),
  serverTypes: entry.server_types ?? null,
  regions: entry.regions ?? null,
  images: entry.images ?? null,
  profiles: entry.profiles ?? null,
  existing: { firewall: entry.firewalls ?? [], network: entry.networks ?? [] },
  onlyProfiles: entry.only_profiles ?? false,
  takesCloudInit: entry.cloud_init ?? true,
  needsFirewall: entry.needs_firewall ?? false,
  mostMachines: entry.machines ?? null,
  mostMicroEurPerHour: toMicroEur(entry.eur_per_hour ?? null),
  mostMicroEurPerMonth: toMicroEur(entry.eur_per_month ?? null),
  takesUnknownPrice: entry.unknown_price ?? false,
});

/** What is wrong with an entry that reads well by itself: the field and the rule; null where nothing is. */
export function faultIn(entry: Read, issuers: readonly Issuer[]): { field: string; rule: string } | null {
  if (entry.issuer === undefined) return faultWithoutIssuer(entry);
  const issuer = issuers.find(({ name }) => name === entry.issuer);
  if (issuer === undefined)
    return { field: "issuer", rule: `must be one of ${issuers.map(({ name }) => name).join(", ")}` };
  if (entry.name === "default")
    return { field: "issuer", rule: "must be left out: `default` is the policy of tokens that name no other" };
  return faultInClaims(entry, issuer) ?? faultInWords(entry, issuer);
}

function faultWithoutIssuer({ claims, owner, account, privileged_events: privileged }: Read) {
  const without = "must be left out without an issuer: minted tokens have none";
  if (claims !== undefined) return { field: "claims", rule: without };
  if (owner !== undefined) return { field: "owner", rule: without };
  if (privileged !== undefined) return { field: "privileged_events", rule: without };
  if (account === "repository" || account === "project")
    return { field: "account", rule: "must be owner or policy without an issuer" };
  return null;
}

/** Names pass to others and patterns fit too much: who is meant must be said by an id that stays. */
function faultInClaims({ claims = {} }: Read, issuer: Issuer): { field: string; rule: string } | null {
  const ids = stableIdsOf(issuer);
  const said = ids.filter((id) => Object.hasOwn(claims, id));
  if (said.length === 0)
    return { field: "claims", rule: `must have ${ids.join(" or ")}: a name can pass to somebody else` };
  for (const id of said) {
    const rule = (claims[id] ?? []).map((one) => faultInId(one, issuer)).find((fault) => fault !== null);
    if (rule !== undefined) return { field: `claims.${id}`, rule };
  }
  return null;
}

function faultInId(id: string, { kind }: Issuer): string | null {
  if (!isSpeltOut(id)) return "must be spelt out, without `*`";
  if (kind !== "other") return digits.safeParse(id).error?.issues[0]?.message ?? null;
  return id.trim() === "" ? "must not be blank" : null;
}

const WORDS: Readonly<Record<Issuer["kind"], { owner: readonly string[]; account: readonly string[] }>> = {
  github: { owner: ["run", "repository"], account: ["repository", "policy"] },
  gitlab: { owner: ["pipeline", "project"], account: ["project", "policy"] },
  other: { owner: [], account: ["owner", "policy"] },
};

function faultInWords({ owner, account, privileged_events: privileged }: Read, { kind, name }: Issuer) {
  const words = WORDS[kind];
  if (owner !== undefined && !words.owner.includes(owner))
    return {
      field: "owner",
      rule: kind === "other" ? `must be left out for ${name}` : `must be ${words.owner.join(" or ")} for ${name}`,
    };
  if (account !== undefined && !words.account.includes(account))
    return { field: "account", rule: `must be ${words.account.join(" or ")} for ${name}` };
  if (privileged !== undefined && kind !== "github")
    return { field: "privileged_events", rule: "must be left out: only GitHub has such events" };
  return null;
}
