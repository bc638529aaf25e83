import type { Ref } from "./name.ts";
import type { ResourceKind, ResourceSpec } from "./resource.ts";

/** What a machine is to be made with: one of its owner's resources, or one that is made with it and goes when it goes. */
export type Attachment = {
  /** Where the caller named it: `firewalls.0`. */
  readonly field: string;
  readonly kind: ResourceKind;
} & ({ readonly by: "ref"; readonly ref: Ref } | { readonly by: "spec"; readonly spec: ResourceSpec });

/** So many of a kind a provider takes at a create. */
export const MOST_ATTACHED: Readonly<Record<ResourceKind, number>> = { firewall: 5, network: 3, ssh_key: 10 };
/** Each is a call or two and three statements of its own, and a free plan's invocation may make fifty of either. */
export const MOST_MADE_WITH = 5;
