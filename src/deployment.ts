/**
 * What a deployer writes in `mayfly.config.ts`: who may do what (`policies`), from whom tokens are taken (`issuers`), named
 * templates of machines (`profiles`), and whose signed events make them (`hooks`). Read whole, at build and at start; an error names the entry and the key.
 */
import * as z from "zod";
import {
  BUILT_IN_ISSUERS,
  checkShortHashes,
  configName,
  faultInIssuer,
  issuerEntry,
  issuerOf,
  type Issuer,
  type IssuerEntry,
} from "./auth/issuers.ts";
import { isSpeltOut } from "./auth/pattern.ts";
import {
  DEFAULT_POLICY,
  faultIn,
  policyEntry,
  policyOf,
  tokenPolicy,
  type Policy,
  type PolicyEntry,
} from "./auth/policy.ts";
import { isLocal, pasted, type Config } from "./config.ts";
import {
  entriesOf,
  inConfiguration,
  NO_KEY,
  parsed,
  refuse,
  refuseDropped,
  UNDEFINED,
} from "./configuration-entries.ts";
import { readHooks } from "./hook-entries.ts";
import type { Hook, HookEntry } from "./hooks/hook.ts";
import { validOf } from "./http/edge/problem.ts";
import { orderOf, profileBody, type ProfileEntry } from "./http/machines/body.ts";
import { checkProfile, type Profiles } from "./lifecycle/order.ts";
import { Misconfigured } from "./machine/misconfigured.ts";

/** `mayfly.config.ts`, as it is written. */
export interface Configuration {
  /** The first that matches a caller's claims wins. */
  readonly policies?: readonly PolicyEntry[];
  readonly profiles?: Readonly<Record<string, ProfileEntry>>;
  readonly issuers?: readonly IssuerEntry[];
  readonly hooks?: Readonly<Record<string, HookEntry>>;
}

/** Gives `mayfly.config.ts` its types; changes nothing. */
export const defineConfig = (configuration: Configuration): Configuration => configuration;

/** The same, read and checked. */
export interface Deployment {
  readonly policies: readonly Policy[];
  readonly profiles: Profiles;
  readonly issuers: readonly Issuer[];
  readonly hooks: ReadonlyMap<string, Hook>;
}

const PARTS = ["policies", "profiles", "issuers", "hooks"] as const;
const LATER = new Set(["endpoints", "runners"]);

/** The settings that stand for a part each, as JSON, where the provider runs on this machine. */
export const PART_SETTINGS = PARTS.map((part) => part.toUpperCase());

const FILE = "mayfly.config.ts";

/**
 * Reads a configuration, or throws {@link Misconfigured} with the first entry that cannot be used. `mayBeLocal`: issuers may be on
 * this machine, too. `policiesIn`: where its policies are written.
 */
export function readDeployment(given: unknown, mayBeLocal: boolean, policiesIn = FILE): Deployment {
  const parts = partsOf(given);
  const issuers = readIssuers(parts.issuers, mayBeLocal);
  const profiles = readProfiles(parts.profiles);
  const policies = readPolicies(parts.policies, { issuers, profiles }, policiesIn);
  return { issuers, profiles, policies, hooks: readHooks(parts.hooks, { policies, profiles }) };
}

/** The same before anything runs, where there is time to find out what takes a promise: that issuers are told apart. */
export async function verifyDeployment(given: unknown, mayBeLocal: boolean): Promise<Deployment> {
  const deployment = readDeployment(given, mayBeLocal);
  await checkShortHashes(deployment.issuers);
  return deployment;
}

/** What opens the deployment of an environment: the file, and what the environment says beside it; read once for equal ones. */
export function createDeployments(file: object): (env: unknown, config: Config) => Deployment {
  let last: { readonly key: string; readonly deployment: Deployment } | undefined;
  return (env, config) => {
    const parts = partsIn(env, isLocal(config));
    const key = JSON.stringify([isLocal(config), parts]);
    if (last?.key !== key) {
      const policiesIn = "policies" in parts ? "the setting POLICIES" : FILE;
      last = { key, deployment: readDeployment({ ...file, ...parts }, isLocal(config), policiesIn) };
    }
    const { deployment } = last;
    checkAudience(deployment, config.oidcAudience);
    return deployment;
  };
}

/**
 * Parts that an environment gives as JSON, by the names of their settings, to stand in place of those of the file. Throws
 * {@link Misconfigured} where one is no JSON, or where the provider is not on this machine.
 */
export function partsIn(env: unknown, isLocalProvider: boolean): Record<string, unknown> {
  const parts = PARTS.flatMap((part) => {
    const setting = part.toUpperCase();
    // JSON that was cut off may end in a quote.
    const text = pasted(env, setting, /^["']/);
    if (text === undefined) return [];
    if (!isLocalProvider)
      throw new Misconfigured(setting, "is read under npm start alone: write it into mayfly.config.ts");
    return [[part, parseJson(setting, text)] as const];
  });
  return Object.fromEntries(parts);
}

function parseJson(setting: string, text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    throw new Misconfigured(setting, "must be JSON of what that part of mayfly.config.ts would be");
  }
}

/** What must be said beside the file for its policies to work. Throws {@link Misconfigured} where it is not. */
function checkAudience({ policies, issuers }: Deployment, audience: string | null): void {
  if (audience !== null) return;
  const deaf = new Set(issuers.filter((issuer) => issuer.audience === null).map(({ name }) => name));
  const policy = policies.find(({ issuer }) => issuer !== null && deaf.has(issuer));
  if (policy !== undefined)
    throw new Misconfigured(
      "OIDC_AUDIENCE",
      "must be set, as [vars] in wrangler.toml: there is a policy for tokens of an issuer, and whom those must be made for is not said",
    );
}

function partsOf(given: unknown) {
  const shape = z.record(z.string(), z.unknown(), "must be what defineConfig is given: an object");
  const { success, data, error } = shape.safeParse(given);
  if (!success) throw new Misconfigured(FILE, error.issues[0]?.message ?? "cannot be read");
  if (typeof given === "object" && given !== null && Object.hasOwn(given, "__proto__"))
    throw new Misconfigured("__proto__", NO_KEY);
  for (const key of Object.keys(data)) {
    if (LATER.has(key))
      throw new Misconfigured(key, "is not supported yet: leave it out, for nothing would come of it");
    if (!PARTS.some((part) => part === key))
      throw new Misconfigured(key, `is no part of a configuration: ${PARTS.join(", ")}`);
    if (data[key] === undefined) throw new Misconfigured(key, UNDEFINED);
  }
  const { policies = [], profiles = {}, issuers = [], hooks = {} } = data;
  return { policies, profiles, issuers, hooks };
}

function readIssuers(given: unknown, mayBeLocal: boolean): Issuer[] {
  const schema = issuerEntry(mayBeLocal);
  const issuers = [...BUILT_IN_ISSUERS];
  for (const { key, entry } of entriesOf("issuers", given)) {
    const issuer = issuerOf(parsed(schema, entry, key));
    refuse(key, faultInIssuer(issuer, issuers));
    issuers.push(issuer);
  }
  return issuers;
}

function readProfiles(given: unknown): Profiles {
  const schema = z.record(z.string(), z.unknown(), "must be an object of profiles by name");
  const entries = parsed(schema, given, "profiles");
  refuseDropped(given, "profiles");
  const read = Object.entries(entries).map(([name, entry]) => {
    const key = `profiles.${name}`;
    parsed(configName, name, key);
    const body = parsed(profileBody, entry, key);
    return [name, inConfiguration(key, () => validOf(checkProfile(orderOf(body))))] as const;
  });
  return new Map(read);
}

function readPolicies(
  given: unknown,
  { issuers, profiles }: Pick<Deployment, "issuers" | "profiles">,
  writtenIn: string,
): Policy[] {
  const names = new Set<string>();
  const policies = entriesOf("policies", given).map(({ key, entry }, index) => {
    const read = parsed(policyEntry, entry, key);
    refuse(key, faultIn(read, issuers) ?? unknownProfile(read.profiles ?? [], profiles));
    if (names.has(read.name)) throw new Misconfigured(key, "must be there once: callers and tokens go by its name");
    names.add(read.name);
    return policyOf(read, `policies[${index}] in ${writtenIn}`);
  });
  const common = tokenPolicy(policies, "default") ?? DEFAULT_POLICY;
  return policies.map((policy) => withLimits(policy, common));
}

/** What a policy does not say of its limits, `default` says for it. */
const withLimits = (policy: Policy, common: Policy): Policy => ({
  ...policy,
  mostMachines: policy.mostMachines ?? common.mostMachines,
  mostMicroEurPerHour: policy.mostMicroEurPerHour ?? common.mostMicroEurPerHour,
  mostMicroEurPerMonth: policy.mostMicroEurPerMonth ?? common.mostMicroEurPerMonth,
});

/** A profile that is spelt out must exist: a typing error would forbid what was meant to be allowed. */
function unknownProfile(patterns: readonly string[], profiles: Profiles) {
  const index = patterns.findIndex((pattern) => isSpeltOut(pattern) && !profiles.has(pattern));
  return index < 0 ? null : { field: `profiles.${index}`, rule: `must be a profile: there is no ${patterns[index]}` };
}
