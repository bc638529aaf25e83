/** Who signs events, each in its own way. */
export const SENDERS = ["github", "gitlab", "standard"] as const;
export type Sender = (typeof SENDERS)[number];

/** Fewer characters can be guessed. */
const SHORTEST = 16;
/** What Standard Webhooks ask of a key. */
const SHORTEST_KEY_BYTES = 24;
const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Whether a secret is the key of a Standard Webhooks signature by its look: GitLab has both kinds. */
export const isSigningSecret = (sender: Sender, secret: string): boolean =>
  sender === "standard" || (sender === "gitlab" && secret.startsWith(PREFIX));

/** The key in a signing secret: base64, behind `whsec_` or by itself. Null where that cannot be read. */
export function signingKey(secret: string): Uint8Array<ArrayBuffer> | null {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  return BASE64.test(text) ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) : null;
}

/** What is wrong with a secret, in words that follow its name; null where nothing is. */
export function faultInSecret(sender: Sender, secret: string): string | null {
  if (secret.length < SHORTEST)
    return `must have at least ${SHORTEST} characters; make one with: ${
      isSigningSecret(sender, secret) ? "echo whsec_$(openssl rand -base64 32)" : "openssl rand -hex 32"
    }`;
  if (!isSigningSecret(sender, secret)) return null;
  const key = signingKey(secret);
  return key === null || key.length < SHORTEST_KEY_BYTES
    ? `must be whsec_ and base64 of at least ${SHORTEST_KEY_BYTES} bytes; make one with: echo whsec_$(openssl rand -base64 32)`
    : null;
}
