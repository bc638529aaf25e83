import * as z from "zod";
import { checkFirewall, type FirewallRule } from "../../machine/firewall.ts";
import { checkIpRange } from "../../machine/network.ts";
import type { ResourceSpec } from "../../machine/resource.ts";
import { parsePublicKey } from "../../machine/ssh-key.ts";
import { invalidField, validOf } from "../edge/problem.ts";

/** What kinds of resource are asked for with, beside a name and a length of life. Hetzner's fields, as far as they apply. */
const cidrs = z.array(z.string()).optional();
const rule = z.strictObject({
  direction: z.enum(["in", "out"], "must be `in` or `out`"),
  protocol: z.enum(["tcp", "udp", "icmp"], "must be tcp, udp or icmp"),
  port: z.string('must be text, like "22" or "80-443"').optional(),
  source_ips: cidrs,
  destination_ips: cidrs,
});
export const firewallFields = {
  rules: z
    .array(rule)
    .default([])
    .meta({ example: [{ direction: "in", protocol: "tcp", port: "22" }] }),
  deny_all: z.boolean().optional().meta({ description: "says that no rule at all is meant" }),
};
export const networkFields = { ip_range: z.string().meta({ example: "10.0.0.0/16" }) };

/** A firewall in the domain's words. Throws the first rule that is broken; `field` is where the caller put it. */
export function firewallSpec(
  { rules, deny_all: denyAll = false }: z.infer<z.ZodObject<typeof firewallFields>>,
  field = "",
): ResourceSpec {
  const read = rules.map((one, index) => toRule(one, `${field}rules.${index}`));
  // The name is ours and has its own rule.
  const checked = checkFirewall("-", read, denyAll);
  if (checked.ok) return { kind: "firewall", rules: read, denyAll };
  const { problem } = checked;
  throw invalidField(`${field}${theirName(problem.field, rules)}`, problem.rule);
}

/** The addresses of the other side mean nothing, so they are an error and not dropped (S111). */
function toRule(
  { direction, protocol, port, source_ips, destination_ips }: z.infer<typeof rule>,
  field: string,
): FirewallRule {
  const [ours, theirs] = direction === "in" ? [source_ips, destination_ips] : [destination_ips, source_ips];
  if (theirs !== undefined)
    throw invalidField(
      `${field}.${direction === "in" ? "destination_ips" : "source_ips"}`,
      `must be left out of a rule for \`${direction}\``,
    );
  // An empty list is more likely an empty variable than the wish to let everybody in.
  if (ours?.length === 0)
    throw invalidField(
      `${field}.${direction === "in" ? "source_ips" : "destination_ips"}`,
      "must name at least one address range, or be left out for anywhere",
    );
  return { direction, protocol, port: port ?? null, ranges: ours ?? [] };
}

/** `rules.0.ranges` as the caller spells it. */
function theirName(field: string, rules: readonly z.infer<typeof rule>[]): string {
  const index = Number(/^rules\.(\d+)\.ranges$/.exec(field)?.[1] ?? Number.NaN);
  const side = rules[index]?.direction === "out" ? "destination_ips" : "source_ips";
  return Number.isNaN(index) ? field : `rules.${index}.${side}`;
}

/** A network in the domain's words. */
export function networkSpec(ipRange: string, region: string, field: string): ResourceSpec {
  validOf(checkIpRange(ipRange, field));
  return { kind: "network", ipRange, region };
}

/** A key in the domain's words: its comment is nobody's business. */
export function sshKeySpec(publicKey: string, field: string): ResourceSpec {
  return { kind: "ssh_key", publicKey: validOf(parsePublicKey(publicKey, field)).material };
}
