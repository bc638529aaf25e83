import type { ProviderLimit } from "../driver.ts";

/** Hetzner's codes for a limit of the project; `dedicated_core_limit` says by itself which one. */
const CODES: ReadonlySet<string> = new Set(["resource_limit_exceeded", "dedicated_core_limit"]);

/** How a refusal without `details` tells in its message which limit it is about. */
const IN_WORDS =
  /\b(server|primary[ _]ip|floating[ _]ip|(?:shared|dedicated)[ _]core|core|firewall|network|ssh[ _]key)[ _]limit\b/i;

/** What a limit counts, where its name does not say it in our words. */
const COUNTS: Readonly<Record<string, string>> = {
  server_limit: "machines",
  primary_ip_limit: "primary IP addresses",
  floating_ip_limit: "floating IP addresses",
  ssh_key_limit: "SSH keys",
};

/**
 * The limit that a refusal is about: the first of those that its details name, else what its code or its message tells. Undefined
 * where it is about none, or nobody can tell which.
 */
export function limitIn(code: string, message: string, named: readonly string[]): ProviderLimit | undefined {
  if (!CODES.has(code)) return undefined;
  const [, word] = IN_WORDS.exec(message) ?? [];
  const told = word && `${word.toLowerCase().replace(" ", "_")}_limit`;
  const name = named.find((one) => one !== "") ?? told ?? (code === "dedicated_core_limit" ? code : undefined);
  return name === undefined ? undefined : { name, counts: countsOf(name) };
}

const countsOf = (name: string): string =>
  (Object.hasOwn(COUNTS, name) && COUNTS[name]) || `${name.replace(/_limit$/, "").replaceAll("_", " ")}s`;
