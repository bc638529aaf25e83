/**
 * The public keys of issuers: fetched, and kept for as long as an isolate lives. Who sends a token costs no fetch of its own: tokens
 * of one issuer share its keys, and whatever they name, its keys are asked for now and then only. docs/decisions/keyless-callers.md
 * says why this is not jose's to do.
 */
import { createLocalJWKSet, type JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { readCapped } from "../net/read-capped.ts";
import { address, isLoopback, type Issuer } from "./issuers.ts";

/** What was last fetched: finds the key that a token names. */
export interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** When it was asked for, in Unix milliseconds. */
  readonly at: number;
}

/** What is remembered of one issuer. Times in Unix milliseconds. */
interface Memory {
  set: KeySet | null;
  failure: { readonly at: number; readonly why: string } | null;
  /** When its keys were asked for, lately. */
  asked: readonly number[];
}

/** The keys of issuers, as they were last fetched, for as long as an isolate lives. */
export type KeyCache = Map<string, Memory>;

/** What keys are got with. */
export interface KeyWork {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>;
  readonly keys: KeyCache;
}

/** An issuer's keys; or why they cannot be had, in words that go on after the issuer's name. */
export type Keys = { readonly ok: true; readonly set: KeySet } | { readonly ok: false; readonly why: string };

const FRESH_MS = 600_000;
/** While newer ones cannot be had, older ones verify for so long: an issuer that is down stops no callers whose keys are known. */
const KEPT_MS = 3_600_000;
/** Keys that are younger are not asked for anew: a key that is not among them is somebody's invention. */
const COOLDOWN_MS = 30_000;
/** After a failure nobody asks for so long. */
const BRAKE_MS = 10_000;
/** Requests do not wait for one another's answers, so that many may ask before the first has come; not more than so many. */
const MOST_ASKED = 20;
const ASKED_WITHIN_MS = 10_000;
const TIMEOUT_MS = 5_000;
const MOST_BYTES = 256 * 1024;

/** An issuer's keys, at most ten minutes old; an hour, where it does not serve them, or too many ask. */
export async function keysOf(issuer: Issuer, work: KeyWork): Promise<Keys> {
  const memory = memoryOf(issuer, work.keys);
  const known = (mostMs: number): Keys | null =>
    memory.set !== null && work.now() - memory.set.at < mostMs ? { ok: true, set: memory.set } : null;
  const fresh = known(FRESH_MS);
  if (fresh !== null) return fresh;
  const renewed = await renew(issuer, work);
  return renewed.ok ? renewed : (known(KEPT_MS) ?? renewed);
}

/** Newer keys than those, for a token whose key is not among them; null where none are to be expected. */
export const newerKeysOf = async (issuer: Issuer, work: KeyWork, than: KeySet): Promise<Keys | null> =>
  work.now() - than.at < COOLDOWN_MS ? null : renew(issuer, work);

function memoryOf({ url, jwks }: Issuer, cache: KeyCache): Memory {
  const key = JSON.stringify([url, jwks]);
  const memory = cache.get(key) ?? { set: null, failure: null, asked: [] };
  cache.set(key, memory);
  return memory;
}

async function renew(issuer: Issuer, work: KeyWork): Promise<Keys> {
  const memory = memoryOf(issuer, work.keys);
  const at = work.now();
  const { failure } = memory;
  if (failure !== null && at - failure.at < BRAKE_MS) return { ok: false, why: failure.why };
  memory.asked = memory.asked.filter((asked) => at - asked < ASKED_WITHIN_MS);
  if (memory.asked.length >= MOST_ASKED) return { ok: false, why: "is being asked for its keys by many at once" };
  memory.asked = [...memory.asked, at];
  const fetched = await fetchKeys(issuer, work.fetch);
  if (!fetched.ok) {
    memory.failure = { at: work.now(), why: fetched.why };
    return fetched;
  }
  const set = { find: createLocalJWKSet(fetched.value), at };
  // An answer may come after that to a later question.
  if (memory.set === null || memory.set.at <= at) memory.set = set;
  return { ok: true, set };
}

type Fetched<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };

const publicKey = z.object({
  kty: z.enum(["RSA", "EC", "OKP"]),
  kid: z.string().exactOptional(),
  alg: z.string().exactOptional(),
  use: z.string().exactOptional(),
  key_ops: z.array(z.string()).exactOptional(),
  n: z.string().exactOptional(),
  e: z.string().exactOptional(),
  crv: z.string().exactOptional(),
  x: z.string().exactOptional(),
  y: z.string().exactOptional(),
});
/** RFC 7517, of which what is no public key is passed over: an issuer may have others beside it. */
const keySet = z.object({ keys: z.array(z.unknown()) }).transform(({ keys }) => ({
  keys: keys.flatMap((key) => {
    const { success, data } = publicKey.safeParse(key);
    return success ? [data] : [];
  }),
}));

async function fetchKeys(issuer: Issuer, fetch: KeyWork["fetch"]): Promise<Fetched<z.output<typeof keySet>>> {
  if (issuer.jwks !== null) return getJson(issuer.jwks, keySet, fetch);
  const discovered = await discover(issuer, fetch);
  return discovered.ok ? getJson(discovered.value, keySet, fetch) : discovered;
}

/** Where an issuer's keys are, by its own word (OpenID Connect Discovery 1.0, section 4). */
async function discover({ url }: Issuer, fetch: KeyWork["fetch"]): Promise<Fetched<string>> {
  const document = z.object({ issuer: z.string(), jwks_uri: address(isLoopback(url)) });
  const read = await getJson(`${url.replace(/\/$/, "")}/.well-known/openid-configuration`, document, fetch);
  if (!read.ok) return read;
  return read.value.issuer === url
    ? { ok: true, value: read.value.jwks_uri }
    : { ok: false, why: "calls itself otherwise in its discovery document" };
}

async function getJson<T>(url: string, schema: z.ZodType<T>, fetch: KeyWork["fetch"]): Promise<Fetched<T>> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
  try {
    // Some answer nobody who does not say who asks; and a redirect would let others name the keys.
    const headers = { Accept: "application/json", "User-Agent": "mayfly" };
    const response = await fetch(url, { headers, redirect: "manual", signal: timeout.signal });
    if (response.status !== 200) return { ok: false, why: `answered with the status ${response.status}` };
    const text = await readCapped(response, MOST_BYTES);
    if (text === null) return { ok: false, why: `answered with more than ${MOST_BYTES} bytes` };
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return { ok: true, value: parsed.data };
    const where = parsed.error.issues[0]?.path.join(".");
    return { ok: false, why: `answered what cannot be read (${where === "" ? "body" : where})` };
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, why: "answered what is no JSON" };
    return { ok: false, why: timeout.signal.aborted ? "did not answer in time" : "could not be reached" };
  } finally {
    clearTimeout(timer);
    // Whatever of an answer was not read is not waited for.
    timeout.abort();
  }
}
