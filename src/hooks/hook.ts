/**
 * What a hook is: whose signed events are taken, and what they bring about. A hook decides nothing by itself: what its events may make is
 * its policy's to say, and what they make is its profile's.
 */
import * as z from "zod";
import { configName } from "../auth/issuers.ts";
import { fitsOne } from "../auth/pattern.ts";
import { leaseText, tokenPolicy, type Policy } from "../auth/policy.ts";
import { SENDERS, type Sender } from "../auth/senders.ts";
import { DELIVERY_ACTS, type DeliveryAct } from "../machine/delivery.ts";
import { parsePath, parseTemplate, PATH_RULE, TEMPLATE_RULE, type Path, type Template } from "./path.ts";

export interface Hook {
  readonly name: string;
  readonly sender: Sender;
  /** The name of the setting that holds its secret. */
  readonly secret: string;
  /** Whose events are taken; null where the sender has but one. */
  readonly sources: Sources | null;
  readonly policy: string;
  /** What its machines are made from; null where it makes none. */
  readonly profile: string | null;
  /** Null = the events say themselves what they want. */
  readonly rules: readonly Rule[] | null;
}

export interface Sources {
  readonly by: "repository" | "installation" | "project";
  readonly ids: ReadonlySet<string>;
}

/** What one kind of event brings about. */
export interface Rule {
  readonly on: string;
  /** All must hold; each by one of its patterns. */
  readonly when: readonly { readonly path: Path; readonly patterns: readonly string[] }[];
  readonly act: DeliveryAct;
  readonly name: Template;
  readonly ttl: string | null;
  /** Where the payload says how recent the fact is; null = where its sender says so as a rule. */
  readonly rank: Path | null;
}

const text = z.string("must be text").min(1, "must not be empty");
const value = z
  .union([text, z.number(), z.boolean()], "must be text, a number, true or false")
  .refine(
    (given) => typeof given !== "number" || Number.isSafeInteger(given),
    "must be a whole number, or stand in quotes",
  );
const values = z
  .union([value, z.array(value).min(1, "must name at least one value")], "must be a value or a list of values")
  .transform((given) => [given].flat().map(String));
const dotted = z.string("must be text").transform((given, context) => parsed(parsePath(given), PATH_RULE, context));
const template = z
  .string("must be text")
  .transform((given, context) => parsed(parseTemplate(given), TEMPLATE_RULE, context));

const ID_RULE = "must be ids: whole numbers of at most 18 digits";
const ids = z
  .array(
    z
      .union([z.int(ID_RULE).positive(ID_RULE), z.string().regex(/^[1-9]\d{0,17}$/, ID_RULE)], ID_RULE)
      .transform(String)
      .refine((id) => /^[1-9]\d{0,17}$/.test(id), ID_RULE),
    ID_RULE,
  )
  .min(1, "must name at least one")
  .optional();

const ruleEntry = z.strictObject({
  on: text,
  when: z.record(z.string(), values, "must be an object of paths and values").optional(),
  do: z.enum(DELIVERY_ACTS, `must be one of ${DELIVERY_ACTS.join(", ")}`),
  name: template,
  ttl: leaseText.optional(),
  rank: dotted.optional(),
});

/** Every other secret of the environment is somebody else's to know. */
const SECRET = /^HOOK_[A-Z0-9_]{1,59}$/;
const SECRET_RULE = "must be the name of a setting that begins with HOOK_, in capitals, and does not end with _OLD";

/** An entry of `hooks`, as it is written. */
export const hookEntry = z.strictObject({
  sender: z.enum(SENDERS, `must be one of ${SENDERS.join(", ")}`),
  secret: z.string(SECRET_RULE).refine((name) => SECRET.test(name) && !name.endsWith("_OLD"), SECRET_RULE),
  repositories: ids,
  installations: ids,
  projects: ids,
  policy: configName.optional(),
  profile: configName.optional(),
  rules: z
    .array(ruleEntry, "must be a list of rules")
    .min(1, "must have at least one")
    .max(20, "must be at most 20")
    .optional(),
});

export type HookEntry = z.input<typeof hookEntry>;
type Read = z.output<typeof hookEntry>;

/** An entry that has been read and has no fault, in the words of the code. */
export const hookOf = (name: string, entry: Read): Hook => ({
  name,
  sender: entry.sender,
  secret: entry.secret,
  sources: sourcesOf(entry),
  policy: entry.policy ?? "default",
  profile: entry.profile ?? null,
  rules: entry.rules?.map(ruleOf) ?? null,
});

const ruleOf = (entry: z.output<typeof ruleEntry>): Rule => ({
  on: entry.on,
  when: Object.entries(entry.when ?? {}).map(([key, patterns]) => ({ path: parsePath(key) ?? [], patterns })),
  act: entry.do,
  name: entry.name,
  ttl: entry.ttl ?? null,
  rank: entry.rank ?? null,
});

function sourcesOf({ repositories, installations, projects }: Read): Sources | null {
  if (repositories !== undefined) return { by: "repository", ids: new Set(repositories) };
  if (installations !== undefined) return { by: "installation", ids: new Set(installations) };
  return projects === undefined ? null : { by: "project", ids: new Set(projects) };
}

type Fault = { readonly field: string; readonly rule: string } | null;

/** What is wrong with an entry that reads well by itself: the field and the rule; null where nothing is. */
export function faultInHook(
  entry: Read,
  { policies, profiles }: { readonly policies: readonly Policy[]; readonly profiles: ReadonlyMap<string, unknown> },
): Fault {
  const { policy: policyName = "default", profile } = entry;
  const policy = tokenPolicy(policies, policyName);
  if (policy === null)
    return { field: "policy", rule: `must be a policy without an issuer: there is no such ${policyName}` };
  if (profile !== undefined && !profiles.has(profile))
    return { field: "profile", rule: `must be a profile: there is no ${profile}` };
  if (profile !== undefined && !fitsOne(policy.profiles, profile))
    return { field: "profile", rule: `must be one that the policy ${policyName} lets its callers name` };
  return faultInSources(entry) ?? faultInRules(entry);
}

const KEYS = ["repositories", "installations", "projects"] as const;
const TAKES: Readonly<Record<Sender, readonly (typeof KEYS)[number][]>> = {
  github: ["repositories", "installations"],
  gitlab: ["projects"],
  standard: [],
};

/** One secret may stand for many repositories: that it is known is not enough to tell whose events are meant. */
function faultInSources(entry: Read): Fault {
  const takes = TAKES[entry.sender];
  const given = KEYS.filter((key) => entry[key] !== undefined);
  const foreign = given.find((key) => !takes.includes(key));
  if (foreign !== undefined) return { field: foreign, rule: `must be left out for the sender ${entry.sender}` };
  const [first, second] = given;
  if (second !== undefined) return { field: second, rule: `must be left out where ${first} is given` };
  const [wanted] = takes;
  if (wanted === undefined || first !== undefined) return null;
  return { field: wanted, rule: `is required${takes.length > 1 ? `, or ${takes[1]}` : ""}: whose events are taken` };
}

function faultInRules({ sender, rules, profile }: Read): Fault {
  if (rules === undefined && sender !== "standard")
    return { field: "rules", rule: "is required: what the events bring about" };
  for (const [index, rule] of (rules ?? []).entries()) {
    const path = Object.keys(rule.when ?? {}).find((key) => parsePath(key) === null);
    if (path !== undefined) return { field: `rules.${index}.when.${path}`, rule: PATH_RULE };
    if (rule.do === "destroy" && rule.ttl !== undefined)
      return { field: `rules.${index}.ttl`, rule: "must be left out of a destroy" };
  }
  const makes = rules === undefined || rules.some((rule) => rule.do === "create");
  return makes && profile === undefined ? { field: "profile", rule: "is required: what machines are made from" } : null;
}

function parsed<T>(result: T | null, rule: string, context: z.RefinementCtx): T {
  if (result !== null) return result;
  context.addIssue(rule);
  return z.NEVER;
}
