/** Key/value pairs on a resource. */
export type Labels = { [key: string]: string };

// Names and values share their alphabet; only the value may be empty. Source: Hetzner API, Labels.
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const PREFIX_MAX_CHARACTERS = 253;
// Anywhere in a key, as karpenter's authors met it. Source: karpenter-provider-hetzner, ADR 0002 (third party).
const RESERVED = "hetzner.cloud";

/** Whether a label key is well formed; a reserved one counts as well formed, since selectors may name it. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash === -1) return NAME.test(key);
  const prefix = key.slice(0, slash);
  return prefix.length <= PREFIX_MAX_CHARACTERS && PREFIX.test(prefix) && NAME.test(key.slice(slash + 1));
}

/** Whether a label value is well formed; the empty value is. */
export function isLabelValue(value: string): boolean {
  return value === "" || NAME.test(value);
}

/** The complaints about a label map that a request wants to set; none when it may be set. */
export function labelProblems(labels: { [key: string]: unknown }): string[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    if (!isLabelKey(key)) return [`label key '${key}' is not correctly formatted`];
    if (key.includes(RESERVED)) return [`label key '${key}' has a reserved prefix`];
    if (typeof value !== "string") return [`label value of '${key}' is not a string`];
    return isLabelValue(value) ? [] : [`label value '${value}' (key: '${key}') is not correctly formatted`];
  });
}
