import * as z from "zod";
import { MOST_ATTACHED, parseExisting, type Attachment } from "../../machine/attachment.ts";
import { parseResourceRef, type ResourceKind, type ResourceSpec } from "../../machine/resource.ts";
import { invalidField, validOf } from "../edge/problem.ts";
import { firewallFields, networkFields, networkSpec, readFirewall, sshKeySpec } from "../resources/specs.ts";
import { refIn } from "../resources/ref.ts";

const most = (number: number) => `must be at most ${number}`;
const choice = <Inline extends z.ZodType>(inline: Inline, rule: string) => z.union([z.string(), inline], rule);

const EXISTING = "`id:4711` for one of the provider's project that your policy names";

/** The fields of a create that say what a machine is to use. */
export const attachmentFields = {
  ssh_keys: z
    .array(z.string("must be a name, an id or a public key"))
    .max(MOST_ATTACHED.ssh_key, most(MOST_ATTACHED.ssh_key))
    .optional()
    .meta({ description: "names or ids of keys of yours, or public keys, which go with the machine" }),
  firewalls: z
    .array(choice(z.strictObject(firewallFields), "must be a name, an id or {rules, deny_all}"))
    .max(MOST_ATTACHED.firewall, most(MOST_ATTACHED.firewall))
    .optional()
    .meta({ description: `names or ids of firewalls of yours, or what is to be made with the machine; ${EXISTING}` }),
  networks: z
    .array(choice(z.strictObject(networkFields), "must be a name, an id or {ip_range}"))
    .max(MOST_ATTACHED.network, most(MOST_ATTACHED.network))
    .optional()
    .meta({ description: `likewise of networks; ${EXISTING}` }),
};

type Fields = z.infer<z.ZodObject<typeof attachmentFields>>;

/** What a machine is to use, in the domain's words. `region` is where a network would be made with it. */
export function parseAttachments({ ssh_keys, firewalls, networks }: Fields, region: string): Attachment[] {
  const named = (kind: ResourceKind, field: string, text: string): Attachment => ({
    field,
    kind,
    by: "ref",
    ref: refIn(kind, text, field),
  });
  const there = (kind: ResourceKind, field: string, text: string): Attachment => {
    const existing = parseExisting(text, field);
    return existing === null ? named(kind, field, text) : { field, kind, by: "id", id: validOf(existing) };
  };
  const made = (field: string, spec: ResourceSpec): Attachment => ({ field, kind: spec.kind, by: "spec", spec });

  const all: Attachment[] = [];
  for (const [index, text] of (ssh_keys ?? []).entries()) {
    const field = `ssh_keys.${index}`;
    // No name and no id has a space or a tab, and every public key has one.
    const isKey = /[ \t]/.test(text.trim());
    if (!isKey && !parseResourceRef("ssh_key", text).ok)
      throw invalidField(field, "must be the name or id of a key of yours, or a public key");
    all.push(isKey ? made(field, sshKeySpec(text, field)) : named("ssh_key", field, text));
  }
  for (const [index, one] of (firewalls ?? []).entries()) {
    const field = `firewalls.${index}`;
    if (typeof one === "string") all.push(there("firewall", field, one));
    else {
      const { spec, said } = readFirewall(one, `${field}.`);
      const isSame = JSON.stringify(spec) === JSON.stringify(said);
      all.push({ ...made(field, spec), ...(isSame ? {} : { said }) });
    }
  }
  for (const [index, one] of (networks ?? []).entries()) {
    const field = `networks.${index}`;
    if (typeof one === "string") all.push(there("network", field, one));
    else all.push(made(field, networkSpec(one.ip_range, region, `${field}.ip_range`)));
  }
  return all;
}
