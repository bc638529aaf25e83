import { checkRange } from "./ip-range.ts";
import { invalid, valid, type Checked } from "./validation.ts";

export const PROTOCOLS = ["tcp", "udp", "icmp", "esp", "gre"] as const;
const WITH_PORT: ReadonlySet<string> = new Set(["tcp", "udp"]);

/** One rule of a firewall. Which side's addresses it names follows from its direction. */
export interface FirewallRule {
  readonly direction: "in" | "out";
  readonly protocol: (typeof PROTOCOLS)[number];
  /** `8443` or `80-443`; null for what has none: all but tcp and udp. */
  readonly port: string | null;
  /** CIDRs: where from when `in`, where to when `out`; empty = anywhere. */
  readonly ranges: readonly string[];
  /** What it is for, in its author's words. Left out where there are none. */
  readonly description?: string | undefined;
}

export const ANYWHERE: readonly string[] = ["0.0.0.0/0", "::/0"];
const MOST_RULES = 50;
const MOST_RANGES = 100;
/** Of all rules together, each range of a rule counting as one: Hetzner's limit of effective rules, and what keeps a row small. */
const MOST_EFFECTIVE = 500;
const MOST_NAME = 128;
const MOST_DESCRIPTION = 255;

/**
 * Checks what a firewall is to be by every rule that needs no provider (S109-S118), and answers its rules with their ranges in the
 * spelling that all others stand for. No rule at all denies everything inbound once it is attached, so that must be said out loud:
 * `denyAll` (S121).
 */
export function checkFirewall(
  name: string,
  rules: readonly FirewallRule[],
  denyAll: boolean,
): Checked<readonly FirewallRule[]> {
  if (name.length === 0 || name.length > MOST_NAME) return invalid("name", `must be 1 to ${MOST_NAME} characters`);
  if (rules.length > MOST_RULES) return invalid("rules", `must be at most ${MOST_RULES}`);
  if (rules.length === 0 && !denyAll)
    return invalid("rules", "must not be empty, unless deny_all says that nothing may come in");
  if (rules.length > 0 && denyAll) return invalid("deny_all", "goes without rules: it says that nothing may come in");
  const read: FirewallRule[] = [];
  for (const [index, rule] of rules.entries()) {
    const checked = checkRule(rule, `rules.${index}`);
    if (!checked.ok) return checked;
    read.push(checked.value);
  }
  const effective = read.reduce((sum, { ranges }) => sum + (ranges.length || ANYWHERE.length), 0);
  if (effective > MOST_EFFECTIVE)
    return invalid(
      "rules",
      `must come to at most ${MOST_EFFECTIVE} effective rules, and come to ${effective}: each range of a rule is one`,
    );
  return valid(read);
}

function checkRule(rule: FirewallRule, at: string): Checked<FirewallRule> {
  const { direction, protocol, port, ranges, description = "" } = rule;
  if (direction !== "in" && direction !== "out") return invalid(`${at}.direction`, "must be `in` or `out`");
  if (!PROTOCOLS.includes(protocol)) return invalid(`${at}.protocol`, `must be one of ${PROTOCOLS.join(", ")}`);
  const hasPort = WITH_PORT.has(protocol);
  if (!hasPort && port !== null) return invalid(`${at}.port`, `must be left out for ${protocol}`);
  if (hasPort && (port === null || !isPortRange(port)))
    return invalid(`${at}.port`, "must be a port from 1 to 65535, or a range like 80-443, without leading zeros");
  if (!description.isWellFormed() || description.length > MOST_DESCRIPTION)
    return invalid(`${at}.description`, `must be at most ${MOST_DESCRIPTION} characters, and such that UTF-8 can hold`);
  if (ranges.length > MOST_RANGES) return invalid(`${at}.ranges`, `must be at most ${MOST_RANGES}`);
  const read: string[] = [];
  for (const range of ranges) {
    const checked = checkRange(range, `${at}.ranges`);
    if (!checked.ok) return checked;
    read.push(checked.value);
  }
  return valid({ ...rule, ranges: read });
}

function isPortRange(text: string): boolean {
  const match = /^([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?$/.exec(text);
  if (match?.[1] === undefined) return false;
  const from = Number(match[1]);
  const to = match[2] === undefined ? from : Number(match[2]);
  return to <= 65_535 && from <= to;
}
