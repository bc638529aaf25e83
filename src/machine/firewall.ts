import { isRange } from "./ip-range.ts";
import { invalid, valid, type Checked } from "./validation.ts";

/** One rule of a firewall. Which side's addresses it names follows from its direction. */
export interface FirewallRule {
  readonly direction: "in" | "out";
  readonly protocol: "tcp" | "udp" | "icmp";
  /** `8443` or `80-443`; null for icmp, which has none. */
  readonly port: string | null;
  /** CIDRs: where from when `in`, where to when `out`; empty = anywhere. */
  readonly ranges: readonly string[];
}

export const ANYWHERE: readonly string[] = ["0.0.0.0/0", "::/0"];
const MOST_RULES = 50;
const MOST_RANGES = 100;
/** Of all rules together, each range of a rule counting as one: Hetzner's limit of effective rules, and what keeps a row small. */
const MOST_EFFECTIVE = 500;
const MOST_NAME = 128;

/**
 * Checks what a firewall is to be by every rule that needs no provider (S109-S118). No rule at all denies everything inbound
 * once it is attached, so that must be said out loud: `denyAll` (S121).
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
  for (const [index, rule] of rules.entries()) {
    const problem = problemOf(rule);
    if (problem !== null) return invalid(`rules.${index}.${problem.field}`, problem.rule);
  }
  const effective = rules.reduce((sum, { ranges }) => sum + (ranges.length || ANYWHERE.length), 0);
  if (effective > MOST_EFFECTIVE)
    return invalid(
      "rules",
      `must come to at most ${MOST_EFFECTIVE} effective rules, and come to ${effective}: each range of a rule is one`,
    );
  return valid(rules);
}

function problemOf({ direction, protocol, port, ranges }: FirewallRule): { field: string; rule: string } | null {
  if (direction !== "in" && direction !== "out") return { field: "direction", rule: "must be `in` or `out`" };
  if (!["tcp", "udp", "icmp"].includes(protocol)) return { field: "protocol", rule: "must be tcp, udp or icmp" };
  if (protocol === "icmp" && port !== null) return { field: "port", rule: "must be left out for icmp" };
  if (protocol !== "icmp" && (port === null || !isPortRange(port)))
    return { field: "port", rule: "must be a port from 1 to 65535, or a range like 80-443" };
  if (ranges.length > MOST_RANGES) return { field: "ranges", rule: `must be at most ${MOST_RANGES}` };
  if (!ranges.every(isRange)) return { field: "ranges", rule: "must be CIDRs like 203.0.113.0/24 or 2001:db8::/32" };
  return null;
}

function isPortRange(text: string): boolean {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) return false;
  const from = Number(match[1]);
  const to = match[2] === undefined ? from : Number(match[2]);
  return from >= 1 && to <= 65_535 && from <= to;
}
