import { sha256Hex } from "./auth/hash.ts";
import { wordOf, type Evidence } from "./auth/principal.ts";
import type { KeyCache } from "./auth/keys.ts";
import { openBrakes } from "./brakes.ts";
import { isLocal, readConfig, type Config, type SweepConfig } from "./config.ts";
import { createDeployments, type Configuration, type Deployment } from "./deployment.ts";
import { readHookSecrets } from "./hook-secrets.ts";
import { oncePerEnvironment } from "./environment.ts";
import { hooksPhase } from "./hooks/phase.ts";
import type { Host, Scope } from "./http/edge/app-env.ts";
import type { Context, RequestContext } from "./lifecycle/context.ts";
import { openLooks } from "./lifecycle/looks.ts";
import { paceOf, type Brake } from "./lifecycle/pace.ts";
import { done } from "./lifecycle/refusal.ts";
import type { createProviders } from "./providers.ts";
import { AFTER_A_REQUEST, budgetOf, type Meter } from "./reaper/budget.ts";
import type { ExtraPhase, PhaseContext, SweepContext } from "./reaper/context.ts";
import { countedProvider } from "./reaper/counted-provider.ts";
import { expirePass } from "./reaper/expire-pass.ts";
import { logLines, type SweepOrder, type SweepReport } from "./reaper/report.ts";
import { sweep } from "./reaper/sweep.ts";
import type { Runtime } from "./runtime.ts";
import { openAhead } from "./store/ahead.ts";
import { openStore, type Store, type StoreMode } from "./store/store.ts";

/** One invocation of the Worker. Whatever it sends out is counted on one meter, because a plan limits the whole of it. */
export interface Invocation {
  /** Without what would go past the meter, or past what was read ahead. */
  readonly runtime: Omit<Runtime, "fetch" | "sleep">;
  readonly meter: Meter;
  /** The runtime's, counted. Behind it, as behind a `sleep` or a write, nothing is known any more that was read ahead. */
  readonly fetch: Runtime["fetch"];
  readonly sleep: Runtime["sleep"];
  readonly openStore: (mode?: StoreMode) => Store;
  /** `isSweep`: of the provider's rate limit a request leaves a reserve to sweeps and deletes. */
  readonly openProvider: (
    config: SweepConfig,
    isSweep: boolean,
  ) => Pick<Context, "driver" | "capabilities" | "provider" | "credential">;
}

export function openInvocation(
  runtime: Runtime,
  openProvider: ReturnType<typeof createProviders>,
  db: D1Database,
): Invocation {
  const meter = { fetches: 0, statements: 0, entries: 0 };
  const ahead = openAhead();
  const fetch: Runtime["fetch"] = (input, init) => {
    meter.fetches += 1;
    ahead.forget();
    return runtime.fetch(input, init);
  };
  return {
    runtime,
    meter,
    fetch,
    sleep: (milliseconds) => {
      ahead.forget();
      return runtime.sleep(milliseconds);
    },
    openStore: (mode) => openStore(db, (count) => (meter.statements += count), mode, ahead),
    openProvider: (config, isSweep) => ({
      ...countedProvider(openProvider(config, { now: runtime.now, fetch, isSweep }), meter),
      provider: config.provider,
      credential: fingerprint(config),
    }),
  };
}

/** A fingerprint of the provider credential, worked out once. */
function fingerprint({ hcloudToken }: SweepConfig): () => Promise<string> {
  let known: Promise<string> | undefined;
  return () => (known ??= sha256Hex(hcloudToken).then((hash) => hash.slice(0, 16)));
}

/** What `http/` runs on: each request is an invocation of its own. */
export function hostOf(
  runtime: Runtime,
  openProvider: ReturnType<typeof createProviders>,
  configuration: Configuration,
): Host & {
  /** The phases that a sweep is given beside its own. What they need is read when there is something for them to do. */
  readonly extraPhases: (env: Env, invocation: Invocation) => readonly ExtraPhase[];
} {
  const openDeployment = createDeployments(configuration);
  const keys: KeyCache = new Map();
  const looks = openLooks();
  const openKnown = oncePerEnvironment((env): Known => {
    const config = readConfig(env);
    const { byAccount } = openBrakes(env, runtime.log);
    const hookSecrets: Scope["hookSecrets"] = (hook) => readHookSecrets(env, hook);
    return { config, deployment: openDeployment(env, config), keys, looks, byAccount, hookSecrets };
  });
  return {
    now: runtime.now,
    newUid: runtime.newUid,
    log: runtime.log,
    openRequest: (env, requestId) => {
      const known = openKnown(env);
      return openRequest(openInvocation(runtime, openProvider, env.DB), known, requestId);
    },
    extraPhases: (env, invocation) => [carryingPhase(invocation, () => openKnown(env))],
    openBrakes: (env) => openBrakes(env, runtime.log),
    openHealth: (env) => {
      const { openStore: storeOf, meter } = openInvocation(runtime, openProvider, env.DB);
      return { reads: storeOf({ readOnly: true }), meter, settings: () => openKnown(env).config };
    },
  };
}

/** What a deployment has said, and what an isolate remembers of issuers and of machines that it looked at. */
interface Known extends Pick<Scope, "hookSecrets" | "looks"> {
  readonly config: Config;
  readonly deployment: Deployment;
  readonly keys: KeyCache;
  readonly byAccount: Brake;
}

function openRequest(
  invocation: Invocation,
  known: Known,
  requestId: string | null,
  openStoreAs: PhaseContext["openStoreAs"] = invocation.openStore,
): Scope {
  const { runtime, meter, fetch, sleep } = invocation;
  const { config, deployment, keys, looks, hookSecrets } = known;
  const { policies, issuers, profiles, hooks } = deployment;
  const { defaultTtlMs, creates, maxMachines, maxMicroEurPerMonth, currency } = config;
  const signatureOf = (evidence: Evidence | null) => ({ word: evidence && wordOf(evidence), requestId });
  const signed = (evidence: Evidence | null) => openStoreAs({ signature: signatureOf(evidence) });
  const scope: Scope = {
    ...invocation.openProvider(config, false),
    store: signed(null),
    onWordOf: ({ evidence }) => ({ ...scope, store: signed(evidence) }),
    hooks,
    policies,
    hookSecrets,
    openFor: (caller, delivery) => ({
      ...scope,
      store: openStoreAs({ signature: signatureOf(caller.evidence), ...(delivery === null ? {} : { delivery }) }),
      ...paceOf(known.byAccount, caller),
    }),
    reads: invocation.openStore({ readOnly: true }),
    rules: { ...rulesOf(config), defaultTtlMs, creates, maxMachines, maxMicroEurPerMonth, currency, profiles },
    auth: {
      adminToken: config.adminToken,
      authEpoch: config.authEpoch,
      policies,
      issuers,
      audience: config.oidcAudience,
    },
    fetch,
    keys,
    meter,
    now: runtime.now,
    wallNow: runtime.now,
    newUid: runtime.newUid,
    randomBytes: runtime.randomBytes,
    sleep,
    affords: (cost) => budgetOf(meter, AFTER_A_REQUEST[config.plan]).allows(cost),
    expirePass: once((leaving) => expirePass(openSweep(invocation, config, runtime.now()), leaving, runtime.log)),
    // Of nobody that is known yet; each caller is paced from when it is.
    withinRate: async () => done(undefined),
    mayLook: async () => true,
    looks,
    log: runtime.log,
    sweep: (order) =>
      runSweep(runtime, openSweep(invocation, config, runtime.now(), [carryingPhase(invocation, () => known)]), order),
  };
  return scope;
}

/** A pass that runs once, however often it is asked for: a request is one call. */
function once(pass: RequestContext["expirePass"]): RequestContext["expirePass"] {
  let isSpent = false;
  return async (leaving) => {
    if (isSpent) return "spent";
    isSpent = true;
    return pass(leaving);
  };
}

/** The phase that carries out what events asked for: as a request would, by the sweep's time, lock and budget. */
const carryingPhase = (invocation: Invocation, open: () => Known): ExtraPhase =>
  hooksPhase(({ store, now, pace, openStoreAs }) => {
    const scope = openRequest(invocation, open(), null, openStoreAs);
    const openFor: Scope["openFor"] = (caller, delivery) => ({
      ...scope.openFor(caller, delivery),
      now,
      affords: (cost) => pace.affords(cost),
    });
    return { ...scope, store, now, openFor };
  });

/** Opens what a sweep works with; `now` is the time that its rules go by. */
export function openSweep(
  invocation: Invocation,
  config: SweepConfig,
  now: number,
  extraPhases: readonly ExtraPhase[] = [],
): SweepContext {
  const { runtime, meter, openStore: storeOf } = invocation;
  return {
    ...invocation.openProvider(config, true),
    openStore: storeOf,
    rules: rulesOf(config),
    now: () => now,
    wallNow: runtime.now,
    newUid: runtime.newUid,
    meter,
    plan: config.plan,
    keepHistoryMs: config.keepHistoryMs,
    extraPhases,
    mayPlayTime: isLocal(config),
  };
}

/** What the domain goes by, and nothing secret beside it. */
const rulesOf = ({ installations, maxAgeMs, graceMs, launchDeadlineMs }: SweepConfig) => ({
  installations,
  maxAgeMs,
  graceMs,
  launchDeadlineMs,
});

/** Runs one sweep and logs it, whoever started it; null when another is running. A dry run is told to its caller alone. */
export async function runSweep(
  { log }: Pick<Runtime, "log">,
  context: SweepContext,
  order: SweepOrder,
): Promise<SweepReport | null> {
  const report = await sweep(context, order);
  if (report !== null && !order.dryRun) for (const line of logLines(report)) log(line);
  return report;
}
