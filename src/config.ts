import * as z from "zod";
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
}

/** Everything a deployment can set, read and checked. Lengths in milliseconds. */
export interface Config extends SweepConfig {
  readonly adminToken: string;
  readonly defaultTtlMs: number;
  readonly creates: boolean;
  readonly authEpoch: string;
}

const LONGEST_MS = 30 * 86_400_000;

/** How long a machine lives that asked for nothing. */
const DEFAULT_TTL_MS = 3_600_000;

const duration = (least: string) =>
  z.string(DURATION_RULE).transform((text, context) => {
    const length = parseDuration(text);
    if (length === null) context.addIssue(DURATION_RULE);
    else if (length < (parseDuration(least) ?? 0)) context.addIssue(`must be at least ${least}`);
    else if (length > LONGEST_MS) context.addIssue(`must be at most ${formatDuration(LONGEST_MS)}`);
    return length ?? z.NEVER;
  });

const INSTALLATION_RULE =
  "must be 1 to 63 letters, digits, `-`, `_` or `.`, beginning and ending with a letter or digit";
const installation = z.string(INSTALLATION_RULE).refine((text) => text !== "" && isLabelValue(text), INSTALLATION_RULE);
const secret = (rule: string) => z.string(rule).trim().min(1, rule);

/** RFC 6750: anything else could be configured and never be sent. */
const BEARER = /^[A-Za-z0-9\-._~+/]+=*$/;
const bearer = (rule: string) =>
  secret(rule).regex(BEARER, "must be what a bearer token can be: letters, digits and -._~+/ only");

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

const schema = z.object({
  ...sweepSchema.shape,
  ADMIN_TOKEN: bearer("must be set: the token that may do everything here"),
  DEFAULT_TTL: duration("60s").optional(),
  CREATES: z.enum(["on", "off"], "must be `on` or `off`").default("on"),
  AUTH_EPOCH: z.string("must be text").min(1, "must not be empty").default("1"),
});

const LOOPBACK = /^https?:\/\/(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(\/|$)/;

/** Reads the environment, or throws {@link Misconfigured} with the first key that cannot be used. */
export function readConfig(env: unknown): Config {
  const set = parse(schema, env);
  const sweep = toSweepConfig(set);
  // Left out, it gives way to a shorter MAX_AGE; said, it must fit.
  const defaultTtlMs = set.DEFAULT_TTL ?? Math.min(DEFAULT_TTL_MS, sweep.maxAgeMs);
  if (defaultTtlMs > sweep.maxAgeMs) throw new Misconfigured("DEFAULT_TTL", "must not be longer than MAX_AGE");
  return {
    ...sweep,
    adminToken: set.ADMIN_TOKEN,
    defaultTtlMs,
    creates: set.CREATES === "on",
    authEpoch: set.AUTH_EPOCH,
  };
}

/** Reads just what a sweep needs, or throws {@link Misconfigured}. */
export const readSweepConfig = (env: unknown): SweepConfig => toSweepConfig(parse(sweepSchema, env));

function toSweepConfig(set: z.infer<typeof sweepSchema>): SweepConfig {
  // Two installations of one project tell their machines apart by this alone, so it must not be guessed twice.
  if (set.INSTALLATION.length < 16 && !LOOPBACK.test(set.HCLOUD_ENDPOINT))
    throw new Misconfigured("INSTALLATION", "must have at least 16 characters; make one with: openssl rand -hex 16");
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

function parse<T>(shape: z.ZodType<T>, env: unknown): T {
  const parsed = shape.safeParse(env);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Misconfigured(String(issue?.path[0] ?? "the environment"), issue?.message ?? "cannot be read");
}
