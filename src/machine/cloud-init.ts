/** What user data may begin with, in any case, for cloud-init to do anything with it. */
const BEGINNINGS = [
  "#!",
  "#cloud-config",
  "#include",
  "#cloud-boothook",
  "#part-handler",
  "## template: jinja",
] as const;
/** Where the headers of a message of several parts stand, if it is one. */
const HEADERS = /^(?:mime-version|content-type):/im;
const HEADERS_WITHIN = 4096;
const GZIP = "\u001f\u008b";

/**
 * Whether cloud-init would ignore a user data, which it does without a word but in its own log. That may be meant, so it is a warning and
 * no rule. Hetzner's data source also takes what is encoded in base64, and compressed in it.
 */
export function isIgnored(userData: string): boolean {
  return userData.trim() !== "" && !isKnown(userData) && !isKnownEncoded(userData.trim());
}

/** What is said to whoever sends one that is. */
export const IGNORED = `\`cloud_init\` begins with nothing that cloud-init knows, and would be ignored: it is to begin with one of ${BEGINNINGS.map((one) => `\`${one}\``).join(", ")}, or be a MIME message.`;

function isKnown(text: string): boolean {
  const begun = text.slice(0, HEADERS_WITHIN).trimStart();
  const lower = begun.toLowerCase();
  return BEGINNINGS.some((one) => lower.startsWith(one)) || HEADERS.test(begun);
}

function isKnownEncoded(text: string): boolean {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return false;
  const decoded = atob(text);
  return decoded.startsWith(GZIP) || isKnown(decoded);
}
