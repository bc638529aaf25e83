import type { Fields } from "./fields.ts";
import { formatRange, parseRange } from "./ip-ranges.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { FirewallRule } from "./resources.ts";

const RULES_MAX = 50;
const RANGES_MAX = 100;
const DESCRIPTION_MAX_CHARACTERS = 255;
const PORT_MAX = 65_535;
const DIRECTIONS = new Set<unknown>(["in", "out"]);
const PROTOCOLS = new Set<unknown>(["tcp", "udp", "icmp", "esp", "gre"]);
const PROTOCOLS_WITH_PORT = new Set<unknown>(["tcp", "udp"]);

/** Reads `rules` and refuses all that a firewall cannot do. Source: Hetzner API, Firewalls. */
export function readRules(fields: Fields): FirewallRule[] {
  const given = fields.list("rules", isObject);
  const problems = given.flatMap((rule, index) => problemsOf(rule).map((problem) => `rule ${index}: ${problem}`));
  if (given.length > RULES_MAX) problems.push(`There can be ${RULES_MAX} rules at most.`);
  if (problems.length > 0) fields.refuse("rules", ...problems);
  return given.map(ruleOf);
}

// Answers carry both lists and the port, whether they were sent or not.
function ruleOf(rule: JsonObject): FirewallRule {
  return {
    description: textOrNull(rule["description"]),
    direction: String(rule["direction"]),
    source_ips: rangesOf(rule["source_ips"]),
    destination_ips: rangesOf(rule["destination_ips"]),
    protocol: String(rule["protocol"]),
    port: textOrNull(rule["port"]),
  };
}

function problemsOf(rule: JsonObject): string[] {
  const { description, direction, protocol, port, source_ips, destination_ips } = rule;
  const [own, other] = direction === "out" ? ["destination_ips", "source_ips"] : ["source_ips", "destination_ips"];
  const takesPort = PROTOCOLS_WITH_PORT.has(protocol);
  const checks: [good: boolean, problem: string][] = [
    [DIRECTIONS.has(direction), "direction must be in or out"],
    [PROTOCOLS.has(protocol), "protocol must be tcp, udp, icmp, esp or gre"],
    [takesPort || isAbsent(port), "only tcp and udp have a port"],
    [!takesPort || isPort(port), "port must be a port or a range of ports"],
    [isAbsent(description) || isShortText(description), "description must have at most 255 characters"],
    [
      [source_ips, destination_ips].every(isRangeList),
      "addresses must be in CIDR notation, without host bits, 100 at most",
    ],
    [textsOf(rule[own ?? ""]).length > 0, `${own} must not be empty`],
    [textsOf(rule[other ?? ""]).length === 0, `${other} must be empty`],
  ];
  return checks.filter(([good]) => !good).map(([, problem]) => problem);
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const isShortText = (value: unknown): boolean =>
  typeof value === "string" && value.length <= DESCRIPTION_MAX_CHARACTERS;

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const rangesOf = (value: unknown): string[] =>
  textsOf(value).map((text) => {
    const range = parseRange(text);
    return range === null ? text : formatRange(range);
  });

function isPort(value: unknown): boolean {
  const [, low = "", high = low] = /^([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?$/.exec(String(value)) ?? [];
  return typeof value === "string" && low !== "" && Number(low) <= Number(high) && Number(high) <= PORT_MAX;
}

function isRangeList(value: unknown): boolean {
  if (isAbsent(value)) return true;
  const isRange = (item: unknown): boolean => typeof item === "string" && parseRange(item) !== null;
  return Array.isArray(value) && value.length <= RANGES_MAX && value.every(isRange);
}
