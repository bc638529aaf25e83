import type { Attached, Attachments, Machine, MachineRow } from "./machine.ts";
import type { Ref } from "./name.ts";
import type { ResourceKind, ResourceSpec } from "./resource.ts";
import { invalid, valid, type Checked } from "./validation.ts";

/**
 * What a machine is to be made with: one of its owner's resources; one that is made with it and goes when it goes; or one that stands in
 * the provider's project and is nobody's here, which is used as it is.
 */
export type Attachment = {
  /** Where the caller named it: `firewalls.0`. */
  readonly field: string;
  readonly kind: ResourceKind;
} & ({ readonly by: "ref"; readonly ref: Ref } | MadeWith | Existing);

interface Existing {
  readonly by: "id";
  /** The provider's. */
  readonly id: string;
}

interface MadeWith {
  readonly by: "spec";
  readonly spec: ResourceSpec;
  /** The same as its caller spells it, where that is otherwise. */
  readonly said?: ResourceSpec;
}

const EXISTING = "id:";
/** How one that is nobody's here is written, in a body and in a policy. */
export const EXISTING_RULE = `must be \`${EXISTING}\` and the provider's id, like \`${EXISTING}4711\``;

/** Reads the provider's id of one that is nobody's here; null for what is a name, or an id of ours. */
export function parseExisting(text: string, field: string): Checked<string> | null {
  if (!text.startsWith(EXISTING)) return null;
  const id = text.slice(EXISTING.length);
  return /^[1-9]\d{0,14}$/.test(id) ? valid(id) : invalid(field, EXISTING_RULE);
}
export const existingText = (id: string): string => EXISTING + id;

/** So many of a kind a provider takes at a create. */
export const MOST_ATTACHED: Readonly<Record<ResourceKind, number>> = { firewall: 5, network: 3, ssh_key: 10 };
/** Each is a call or two and three statements of its own, and a free plan's invocation may make fifty of either. */
export const MOST_MADE_WITH = 5;

/** Whether a machine is seen without one that it was made with; what cannot be read is not missing. */
export const isWithout = (
  { attachments }: Pick<MachineRow, "attachments">,
  { attached }: Pick<Machine, "attached">,
  what: keyof Attachments,
): boolean =>
  attachments !== null && attached !== null && !attachments[what].every((id) => attached[what].includes(id));

/** Whether a firewall of a machine's guards it already. */
export const isGuardedBy = ({ firewallIds, pendingFirewallIds }: Attached, id: string): boolean =>
  firewallIds.includes(id) && !pendingFirewallIds.includes(id);

/** Whether a machine is seen with all that it was made with. */
export const isComplete = (
  { attachments }: Pick<MachineRow, "attachments">,
  { attached }: Pick<Machine, "attached">,
): boolean =>
  attachments !== null &&
  attached !== null &&
  attachments.firewallIds.every((id) => isGuardedBy(attached, id)) &&
  attachments.networkIds.every((id) => attached.networkIds.includes(id));
