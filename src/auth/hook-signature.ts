/**
 * Whether an event was signed by whoever knows a hook's secret. By the raw bytes, before anybody reads them, in time that tells nothing
 * about the secret.
 */
import { isSameSecret } from "./same-secret.ts";
import { isSigningSecret, signingKey, type Sender } from "./senders.ts";

/** An event as it came. */
export interface SignedEvent {
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Why a signature is not taken: the header and the rule. */
export interface SignatureFault {
  readonly field: string;
  readonly rule: string;
}

/** So far the time of a Standard Webhooks signature may lie from now. */
const TOLERANCE_MS = 5 * 60_000;
/** More signatures than a sender has secrets at once are somebody's try to keep us busy. */
const MOST_SIGNATURES = 8;

/** What is wrong with an event's signature by any of the secrets; null where one of them made it. `now` in unix milliseconds. */
export async function faultInSignature(
  sender: Sender,
  secrets: readonly string[],
  event: SignedEvent,
  now: number,
): Promise<SignatureFault | null> {
  if (sender === "github") return faultInGitHubs(secrets, event);
  const keys = secrets.filter((secret) => isSigningSecret(sender, secret)).map((secret) => signingKey(secret));
  const isSigned = sender === "standard" || event.headers.has("webhook-signature");
  const usable = keys.filter((key) => key !== null);
  if (isSigned && (sender === "standard" || usable.length > 0)) return faultInStandard(usable, event, now);
  // What is a key is never sent: whoever sends it has got it from somewhere else.
  return faultInToken(
    secrets.filter((secret) => !isSigningSecret(sender, secret)),
    event,
    keys.length > 0,
  );
}

async function faultInGitHubs(
  secrets: readonly string[],
  { headers, body }: SignedEvent,
): Promise<SignatureFault | null> {
  const field = "X-Hub-Signature-256";
  const header = headers.get(field);
  if (header === null)
    return {
      field,
      rule: headers.has("X-Hub-Signature") ? "is required: SHA-1 alone is not taken" : "is required",
    };
  const hex = /^sha256=([0-9a-f]{64})$/i.exec(header)?.[1];
  if (hex === undefined) return { field, rule: "must be sha256= and 64 hexadecimal digits" };
  const signature = Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
  for (const secret of secrets) if (await isHmac(new TextEncoder().encode(secret), signature, body)) return null;
  return { field, rule: "must be the HMAC of the body under this hook's secret" };
}

async function faultInStandard(
  keys: readonly Uint8Array<ArrayBuffer>[],
  { headers, body }: SignedEvent,
  now: number,
): Promise<SignatureFault | null> {
  const id = headers.get("webhook-id") ?? "";
  if (!/^[!-~]{1,200}$/.test(id)) return { field: "webhook-id", rule: "must be 1 to 200 visible ASCII characters" };
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (!/^\d{1,11}$/.test(timestamp)) return { field: "webhook-timestamp", rule: "must be a time in unix seconds" };
  if (Math.abs(now - Number(timestamp) * 1000) > TOLERANCE_MS)
    return { field: "webhook-timestamp", rule: "must be within five minutes of now" };
  const given = (headers.get("webhook-signature") ?? "").split(" ").slice(0, MOST_SIGNATURES);
  const signatures = given.flatMap((one) => (one.startsWith("v1,") ? (bytesIn(one.slice(3)) ?? []) : []));
  const field = "webhook-signature";
  if (signatures.length === 0) return { field, rule: "must be v1, and base64 of an HMAC-SHA256" };
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  for (const key of keys) for (const signature of signatures) if (await isHmac(key, signature, signed)) return null;
  return { field, rule: "must be the signature of id, timestamp and body under this hook's secret" };
}

const bytesIn = (base64: string): Uint8Array<ArrayBuffer>[] | null => {
  const bytes = signingKey(base64);
  return bytes?.length === 32 ? [bytes] : null;
};

async function faultInToken(
  secrets: readonly string[],
  { headers }: SignedEvent,
  hasKeys: boolean,
): Promise<SignatureFault | null> {
  if (secrets.length === 0 && hasKeys)
    return { field: "webhook-signature", rule: "is required: this hook's secret is a signing token" };
  const field = "X-Gitlab-Token";
  const token = headers.get(field);
  if (token === null) return { field, rule: "is required" };
  for (const secret of secrets) if (await isSameSecret(token, secret)) return null;
  return { field, rule: "must be this hook's secret" };
}

async function isHmac(
  key: Uint8Array,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  return crypto.subtle.verify("HMAC", imported, signature, signed);
}
