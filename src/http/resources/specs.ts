import * as z from "zod";
import { checkFirewall, PROTOCOLS, type FirewallRule } from "../../machine/firewall.ts";
import { checkIpRange } from "../../machine/network.ts";
import type { ResourceSpec } from "../../machine/resource.ts";
import { parsePublicKey } from "../../machine/ssh-key.ts";
import { invalidField, validOf } from "../edge/problem.ts";

/** What kinds of resource are asked for with, beside a name and a length of life. Hetzner's fields, and rules as its answers have them. */
const cidrs = z.array(z.string()).optional();
const rule = z.strictObject({
  direction: z.enum(["in", "out"], "must be `in` or `out`"),
  protocol: z.enum(PROTOCOLS, `must be one of ${PROTOCOLS.join(", ")}`),
  port: z.string('must be text, like "22" or "80-443"').nullish(),
  source_ips: cidrs,
  destination_ips: cidrs,
  description: z.string("must be text").nullish(),
});
export const firewallFields = {
  rules: z
    .array(rule)
    .default([])
    .meta({ example: [{ direction: "in", protocol: "tcp", port: "22" }] }),
  deny_all: z.boolean().optional().meta({ description: "says that no rule at all is meant" }),
};
export const networkFields = { ip_range: z.string().meta({ example: "10.0.0.0/16" }) };

type FirewallFields = z.infer<z.ZodObject<typeof firewallFields>>;

/** A firewall in the domain's words. Throws the first rule that is broken; `field` is where the caller put it. */
export const firewallSpec = (fields: FirewallFields, field = ""): ResourceSpec => readFirewall(fields, field).spec;

/** The same, and beside it with its ranges as the caller spells them. */
export function readFirewall(
  { rules, deny_all: denyAll = false }: FirewallFields,
  field: string,
): { readonly spec: ResourceSpec; readonly said: ResourceSpec } {
  const said = rules.map((one, index) => toRule(one, `${field}rules.${index}`));
  // The name is ours and has its own rule.
  const checked = checkFirewall("-", said, denyAll);
  if (checked.ok)
    return {
      spec: { kind: "firewall", rules: checked.value, denyAll },
      said: { kind: "firewall", rules: said, denyAll },
    };
  const { problem } = checked;
  throw invalidField(`${field}${theirName(problem.field, rules)}`, problem.rule);
}

/** Addresses of the other side mean nothing, so they are an error and not dropped (S111); the provider writes an empty list of them. */
function toRule(
  { direction, protocol, port, source_ips, destination_ips, description }: z.infer<typeof rule>,
  field: string,
): FirewallRule {
  const [ours, theirs = []] = direction === "in" ? [source_ips, destination_ips] : [destination_ips, source_ips];
  if (theirs.length > 0)
    throw invalidField(
      `${field}.${direction === "in" ? "destination_ips" : "source_ips"}`,
      `must be empty, or left out, in a rule for \`${direction}\``,
    );
  // An empty list is more likely an empty variable than the wish to let everybody in.
  if (ours?.length === 0)
    throw invalidField(
      `${field}.${direction === "in" ? "source_ips" : "destination_ips"}`,
      "must name at least one address range, or be left out for anywhere",
    );
  return { direction, protocol, port: port ?? null, ranges: ours ?? [], ...(description ? { description } : {}) };
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
