import type { FirewallRule } from "../machine/firewall.ts";
import type { Labels, Machine } from "../machine/machine.ts";
import type { Resource } from "../machine/resource.ts";
import type { Selector } from "../machine/selector.ts";
import type { ServerType } from "../machine/server-type.ts";
import type { Driver } from "./driver.ts";

/** One kind of what lies beside machines. Ids are the provider's. */
export interface Resources {
  /** All that match every label: all pages or an error (S106, S131, S144). */
  list(selector: Selector): Promise<readonly Resource[]>;
  /** Reads one. Absence is `not_found`, and nothing else ever is. */
  get(id: string): Promise<Resource>;
  /** Makes one go away; one that is not there is success (S105, S129, S136). */
  delete(id: string): Promise<void>;
}

/** What a provider was asked for and goes on with after its answer. */
export interface ProviderAction {
  readonly id: string;
  readonly state: "running" | "done" | "failed";
  /** The provider's words for why it failed; null where it did not, or gave none. */
  readonly error: string | null;
}

/** Keys that machines let in. Machines that run keep theirs when it is deleted. */
export interface SshKeys extends Resources {
  /**
   * Uploads a key under a name, or finds the one that is there: equal bytes under any name are `reused` (S98, S100), an equal
   * name with other bytes is `name_taken` (S99). A reused key is left as it is (S103).
   */
  ensure(
    name: string,
    publicKey: string,
    labels: Labels,
  ): Promise<{ readonly key: Resource; readonly reused: boolean }>;
}

/** Firewalls. One that is still applied cannot be deleted: `in_use` (S128). A list of machines may be empty, which asks nobody (S127). */
export interface Firewalls extends Resources {
  /** Makes a firewall, applied to those machines from the start. A taken name is `name_taken` (S119). */
  create(firewall: {
    readonly name: string;
    readonly rules: readonly FirewallRule[];
    /** Says out loud that no rule at all is meant: nothing may come in (S121). */
    readonly denyAll: boolean;
    readonly labels: Labels;
    readonly machineIds: readonly string[];
  }): Promise<Resource>;
  /** Begins to apply it, and answers what is to be followed; where it is applied already that is success, and nothing (S122). */
  apply(id: string, machineIds: readonly string[]): Promise<readonly ProviderAction[]>;
  /** Begins to take it off; where it was not applied that is success (S124). It may still be in use for a moment (S130). */
  remove(id: string, machineIds: readonly string[]): Promise<readonly ProviderAction[]>;
}

/** Private networks. Names are not unique. One is deleted whether machines are in it or not. */
export interface Networks extends Resources {
  /**
   * Makes a network with one subnet over all of its range, in the region's zone. Where one has these labels' uid already, that is
   * it: a repeat makes no second one (S132-S135).
   */
  create(network: {
    readonly name: string;
    readonly ipRange: string;
    readonly region: string;
    readonly labels: Labels;
  }): Promise<Resource>;
  /** Begins to put a machine into it; where it is in it already that is success, every other refusal surfaces (S137, S138). */
  attach(id: string, machineId: string): Promise<readonly ProviderAction[]>;
  /** Begins to lead traffic over a machine in it. The same route again is success, another gateway is `conflict` (S139-S142). */
  addRoute(id: string, destination: string, gateway: string): Promise<readonly ProviderAction[]>;
}

/** A cloud as it is opened: the five operations, and beside them whatever else it can do. */
export interface Provider {
  readonly driver: Driver;
  readonly capabilities: Capabilities;
}

/** A page of all machines. */
export interface InventoryPage {
  readonly machines: readonly Machine[];
  readonly number: number;
  /** False where an entry, or its labels, could not be read. */
  readonly isWhole: boolean;
}

/** What a cloud may offer beyond the five operations. Whoever asks must be able to do without. */
export interface Capabilities {
  /**
   * Sets these labels on a machine that was just read, and leaves the others that it showed as they are. Absence is `not_found`.
   * Whoever asks has made sure that it is the machine that was meant, and that its labels could be read.
   */
  relabel?(machine: Pick<Machine, "providerId" | "labels">, labels: Labels): Promise<void>;
  /** Whether the provider's rate limit leaves room for calls that can wait; deletes never ask. */
  hasHeadroom?(): boolean;
  /** The machine of that provider name, whoever it belongs to; null where there is none. */
  readonly findByName?: (name: string) => Promise<Machine | null>;
  /**
   * One page of what `list` shows, counted from 1 in an order in which whatever is new comes last; null asks for the last page. Read
   * from the last to the first, no machine is left out, though others come and go meanwhile.
   */
  readonly inventoryPage?: (selector: Selector, number: number | null) => Promise<InventoryPage>;
  /** Every server type that the cloud knows, with what it offers where. All pages or an error (S93). */
  serverTypes?(): Promise<readonly ServerType[]>;
  /**
   * The newest snapshot that a caller's `label_selector` names and that this server type can boot, as an image's id. That there is
   * none is `invalid_input`.
   */
  findSnapshot?(labelSelector: string, serverType: string): Promise<string>;
  /** What has become of an action. */
  readonly action?: (id: string) => Promise<ProviderAction>;
  readonly sshKeys?: SshKeys;
  readonly firewalls?: Firewalls;
  readonly networks?: Networks;
}
