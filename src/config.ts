import * as z from "zod";
import { audience } from "./auth/issuers.ts";
import { isLabelValue } from "./machine/labels.ts";
import { DURATION_RULE, formatDuration, parseDuration } from "./machine/duration.ts";
import { Misconfigured } from "./machine/misconfigured.ts";

/** What a sweep needs. It runs even where the rest cannot be read: a typing error must not keep machines alive. */
export interface SweepConfig {
  readonly provider: string;
  readonly hcloudToken: string;
  readonly hcloudEndpoint: string;
  /** Ours first, then those that this one took over from. */
  readonly installations: readonly [string, ...string[]];
  readonly maxAgeMs: number;
  readonly graceMs: number;
  readonly launchDeadlineMs: number;
  readonly plan: "free" | "paid";
  /** The ISO 4217 code of the currency that prices and limits are in; null = none that can be read, so that no price is known. */
  readonly currency: string | null;
  /** How long what is over is remembered; null where a sweep cannot read it, and forgets nothing. */
  readonly keepHistoryMs: number | null;
}

/** Everything a deployment can set, read and checked. Lengths in milliseconds. */
export interface Config extends SweepConfig {
  readonly currency: string;
  readonly adminToken: string;
  readonly defaultTtlMs: number;
  readonly creates: boolean;
  /** So many machines there may be at once, of all accounts together; and of each whose policy says no other number. */
  readonly maxMachines: number;
  /** What machines may cost in a calendar month (UTC), likewise, micro-EUR; null = there is no such limit. */
  readonly maxMicroEurPerMonth: number | null;
  readonly authEpoch: string;
  /** What tokens of issuers must be made for, where an issuer's entry does not say; null = nothing is set. */
  readonly oidcAudience: string | null;
}

const LONGEST_MS = 30 * 86_400_000;

/** How long a machine lives that asked for nothing. */
const DEFAULT_TTL_MS = 3_600_000;

const duration = (least: string, mostMs = LONGEST_MS) =>
  z.string(DURATION_RULE).transform((text, context) => {
    const length = parseDuration(text);
    if (length === null) context.addIssue(DURATION_RULE);
    else if (length < (parseDuration(least) ?? 0)) context.addIssue(`must be at least ${least}`);
    else if (length > mostMs) context.addIssue(`must be at most ${formatDuration(mostMs)}`);
    return length ?? z.NEVER;
  });

const INSTALLATION_RULE =
  "must be 1 to 63 letters, digits, `-`, `_` or `.`, beginning and ending with a letter or digit";
const installation = z.string(INSTALLATION_RULE).refine((text) => text !== "" && isLabelValue(text), INSTALLATION_RULE);

/** RFC 6750: anything else could be configured and never be sent. */
const BEARER = /^[A-Za-z0-9\-._~+/]+=*$/;
const bearer = (rule: string) =>
  z.string(rule).regex(BEARER, "must be what a bearer token can be: letters, digits and -._~+/ only");
/** As many characters of a bearer token are read (`auth/principal.ts`). */
const LONGEST_TOKEN = 512;
/** Fewer can be guessed. */
const SHORTEST_ADMIN_TOKEN = 32;

const sweepSchema = z.object({
  PROVIDER: z.string().default("hetzner"),
  HCLOUD_TOKEN: bearer("must be set: the API token of the Hetzner Cloud project"),
  HCLOUD_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http(s) URL" })
    .default("https://api.hetzner.cloud/v1"),
  INSTALLATION: installation,
  PREVIOUS_INSTALLATIONS: z
    .string()
    .default("")
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    )
    .pipe(z.array(installation)),
  MAX_AGE: duration("1m").prefault("24h"),
  GRACE: duration("0s").prefault("10m"),
  LAUNCH_DEADLINE: duration("1m").prefault("15m"),
  PLAN: z.enum(["free", "paid"], "must be `free` or `paid`").default("free"),
});

const currencySchema = z.object({
  CURRENCY: z
    .string("must be text")
    .regex(/^[A-Z]{3}$/, "must be the code of a currency, as `EUR`")
    .default("EUR"),
});
const EUR_RULE = "must be an amount from 0 to 999999.99, as `100` or `99.50`, or `off`";
const DEFAULT_MICRO_EUR_PER_MONTH = 100_000_000;
/** No create is under way for a day, so none lands whose tombstone is forgotten. */
const SHORTEST_HISTORY = "1d";
const LONGEST_HISTORY_MS = 3650 * 86_400_000;
const historySchema = z.object({ KEEP_HISTORY: duration(SHORTEST_HISTORY, LONGEST_HISTORY_MS).prefault("30d") });

const schema = z.object({
  ...sweepSchema.shape,
  ...currencySchema.shape,
  ...historySchema.shape,
  ADMIN_TOKEN: bearer("must be set: the token that may do everything here").max(
    LONGEST_TOKEN,
    `must have at most ${LONGEST_TOKEN} characters, or no header could carry it`,
  ),
  DEFAULT_TTL: duration("60s").optional(),
  MAX_MACHINES: z
    .string("must be a whole number")
    .regex(/^[1-9]\d{0,4}$/, "must be a whole number from 1 to 99999")
    .transform(Number)
    .default(20),
  MAX_EUR_PER_MONTH: z
    .string(EUR_RULE)
    .regex(/^(off|\d{1,6}(\.\d{1,2})?)$/, EUR_RULE)
    .transform((text) => (text === "off" ? null : Math.round(Number(text) * 1_000_000)))
    .default(DEFAULT_MICRO_EUR_PER_MONTH),
  CREATES: z.enum(["on", "off"], "must be `on` or `off`").default("on"),
  AUTH_EPOCH: z.string("must be text").default("1"),
  OIDC_AUDIENCE: audience.optional(),
});

/** The names of all settings that are read. */
export const SETTINGS = Object.keys(schema.shape);
/** Names that a later version reads. Set here, such a one is no limit, no policy and no secret, and whoever set it must be told. */
export const UNSUPPORTED_SETTINGS =
  "PUBLIC_URL SEAL_KEY SEAL_KEY_OLD METRICS_TOKEN HEARTBEAT_URL ENDPOINTS RUNNERS GITHUB_WEBHOOK_SECRET".split(" ");

const LOOPBACK = /^https?:\/\/(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(\/|$)/i;

/** Reads the environment, or throws {@link Misconfigured} with the first key that cannot be used, or that does nothing here yet. */
export function readConfig(env: unknown): Config {
  const set = parse(schema, env);
  const unsupported = UNSUPPORTED_SETTINGS.find((name) => isSet(env, name));
  if (unsupported !== undefined)
    throw new Misconfigured(unsupported, "is not supported yet: leave it out, for nothing would come of it");
  const sweep = { ...toSweepConfig(set), currency: set.CURRENCY, keepHistoryMs: set.KEEP_HISTORY };
  if (!isLocal(sweep)) checkSecrets(set.ADMIN_TOKEN, sweep);
  // Left out, it gives way to a shorter MAX_AGE; said, it must fit.
  const defaultTtlMs = set.DEFAULT_TTL ?? Math.min(DEFAULT_TTL_MS, sweep.maxAgeMs);
  if (defaultTtlMs > sweep.maxAgeMs) throw new Misconfigured("DEFAULT_TTL", "must not be longer than MAX_AGE");
  return {
    ...sweep,
    adminToken: set.ADMIN_TOKEN,
    defaultTtlMs,
    creates: set.CREATES === "on",
    maxMachines: set.MAX_MACHINES,
    maxMicroEurPerMonth: set.MAX_EUR_PER_MONTH,
    authEpoch: set.AUTH_EPOCH,
    oidcAudience: set.OIDC_AUDIENCE ?? null,
  };
}

/** What is told to no two parties, or to nobody, must not be one and the same. */
function checkSecrets(adminToken: string, { hcloudToken, installations }: SweepConfig): void {
  if (adminToken.length < SHORTEST_ADMIN_TOKEN)
    throw new Misconfigured(
      "ADMIN_TOKEN",
      `must have at least ${SHORTEST_ADMIN_TOKEN} characters; make one with: openssl rand -hex 24`,
    );
  if (adminToken === hcloudToken) throw new Misconfigured("ADMIN_TOKEN", "must not be HCLOUD_TOKEN as well");
  if (installations.includes(adminToken))
    throw new Misconfigured("ADMIN_TOKEN", "must not be INSTALLATION as well, which every label tells");
  if (installations.includes(hcloudToken))
    throw new Misconfigured("INSTALLATION", "must not be HCLOUD_TOKEN as well: every label tells it");
}

/** Reads just what a sweep needs, or throws {@link Misconfigured}. */
export const readSweepConfig = (env: unknown): SweepConfig => ({
  ...toSweepConfig(parse(sweepSchema, env)),
  currency: unlessWrong(() => parse(currencySchema, env).CURRENCY),
  keepHistoryMs: unlessWrong(() => parse(historySchema, env).KEEP_HISTORY),
});

/** A mistake in what no machine's life hangs on must keep none alive: callers are told of it, and sweeps go on without. */
function unlessWrong<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Misconfigured) return null;
    throw error;
  }
}

/** Whether the provider runs on this machine: a simulator, whose time anybody may play. */
export const isLocal = ({ hcloudEndpoint }: Pick<SweepConfig, "hcloudEndpoint">): boolean =>
  LOOPBACK.test(hcloudEndpoint);

function toSweepConfig(set: z.infer<typeof sweepSchema>): Omit<SweepConfig, "currency" | "keepHistoryMs"> {
  const isPublic = !isLocal({ hcloudEndpoint: set.HCLOUD_ENDPOINT });
  // Two installations of one project tell their machines apart by this alone, so it must not be guessed twice.
  if (set.INSTALLATION.length < 16 && isPublic)
    throw new Misconfigured("INSTALLATION", "must have at least 16 characters; make one with: openssl rand -hex 16");
  if (isPublic && new URL(set.HCLOUD_ENDPOINT).protocol === "http:")
    throw new Misconfigured("HCLOUD_ENDPOINT", "must be https: the token would go over the net in the clear");
  return {
    provider: set.PROVIDER,
    hcloudToken: set.HCLOUD_TOKEN,
    hcloudEndpoint: set.HCLOUD_ENDPOINT,
    installations: [set.INSTALLATION, ...set.PREVIOUS_INSTALLATIONS.filter((other) => other !== set.INSTALLATION)],
    maxAgeMs: set.MAX_AGE,
    graceMs: set.GRACE,
    launchDeadlineMs: set.LAUNCH_DEADLINE,
    plan: set.PLAN,
  };
}

/** A setting's value as it is given; an empty one counts as not set, whichever it is. */
function given(env: unknown, name: string): unknown {
  const value: unknown = typeof env === "object" && env !== null ? Reflect.get(env, name) : undefined;
  return value === "" ? undefined : value;
}
const isSet = (env: unknown, name: string): boolean => given(env, name) !== undefined;

/**
 * The same as people paste it: white space around it means nothing. Throws {@link Misconfigured} for a blank one, and one that is
 * `quoted`: one quote at either end is enough to tell.
 */
export function pasted(env: unknown, name: string, quoted = /^["']|["']$/): unknown {
  const value = given(env, name);
  // As `[vars]` has it without quotes.
  if (typeof value === "number")
    throw new Misconfigured(name, "must be text: in wrangler.toml its value stands in quotes");
  if (typeof value !== "string") return value;
  const text = value.trim();
  // Whoever set it meant something, and the default may be something else: an old epoch brings revoked tokens back.
  if (text === "") throw new Misconfigured(name, "must not be blank: give it a value, or leave it out");
  if (quoted.test(text)) throw new Misconfigured(name, "must be given without quotes around it");
  return text;
}

function parse<T>(shape: z.ZodObject<z.ZodRawShape> & z.ZodType<T>, env: unknown): T {
  const isReadable = typeof env === "object" && env !== null;
  const values = Object.keys(shape.shape).map((name) => [name, pasted(env, name)] as const);
  const parsed = shape.safeParse(isReadable ? Object.fromEntries(values) : env);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Misconfigured(String(issue?.path[0] ?? "the environment"), issue?.message ?? "cannot be read");
}
