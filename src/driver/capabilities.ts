import type { FirewallRule } from "../machine/firewall.ts";
import type { Labels, Machine } from "../machine/machine.ts";
import type { Resource } from "../machine/resource.ts";
import type { Selector } from "../machine/selector.ts";
import type { ServerType } from "../machine/server-type.ts";
import type { Driver } from "./driver.ts";

/** How much of a list may be read. */
export interface PageOptions {
  /** More pages than these are an error: as many as whoever asks can afford. */
  readonly maxPages?: number;
  /** Milliseconds that each of its calls may take; left out, the driver's own. */
  readonly timeoutMs?: number;
}

/** One kind of what lies beside machines. Ids are the provider's. */
export interface Resources {
  /**
   * All that match every label: all pages or an error (S106, S131, S144). A list that cannot be all there is, by its own pages, is the
   * error `unexpected`.
   */
  list(selector: Selector, options?: PageOptions): Promise<readonly Resource[]>;
  /** Reads one. Absence is `not_found`, and nothing else ever is. */
  get(id: string): Promise<Resource>;
  /** Makes one go away; one that is not there is success (S105, S129, S136). */
  delete(id: string): Promise<void>;
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

/** What the provider does on an order that it accepted, and what may not have ended with its answer. */
export interface ProviderAction {
  /** The provider's. */
  readonly id: string;
  /** `failed` also where the answer to the order says so at once. */
  readonly state: "running" | "done" | "failed";
  /** Why it failed, in words for people; null while it has not. */
  readonly error: string | null;
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
  /** Applies it; where it is applied already that is success (S122). Answers what the provider then does; nothing where it is done. */
  apply(id: string, machineIds: readonly string[]): Promise<readonly ProviderAction[]>;
  /**
   * Takes it off, and answers as `apply` does; where it was not applied, or the machine is gone, that is success (S124). It may still be
   * in use for a moment (S130).
   */
  remove(id: string, machineIds: readonly string[]): Promise<readonly ProviderAction[]>;
  /** Takes it off whatever these label selectors select: those that a {@link Resource} tells. Answers as `apply` does. */
  removeSelectors(id: string, selectors: readonly string[]): Promise<readonly ProviderAction[]>;
}

/** Private networks. One is deleted whether machines are in it or not. */
export interface Networks extends Resources {
  /**
   * Makes a network with one subnet over all of its range, in the region's zone. Where one has these labels' uid already, that is
   * it: a repeat makes no second one (S132-S135). A name that another one has is `name_taken`.
   */
  create(network: {
    readonly name: string;
    readonly ipRange: string;
    readonly region: string;
    readonly labels: Labels;
  }): Promise<Resource>;
  /**
   * Puts a machine into it; where it is in it already that is success, and every other refusal surfaces (S137, S138). Answers what the
   * provider then does; nothing where it is done.
   */
  attach(id: string, machineId: string): Promise<readonly ProviderAction[]>;
  /**
   * Leads traffic over a machine in it, and answers as `attach` does. The same route again is success, another gateway for it is
   * `conflict` (S139-S142).
   */
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
  /**
   * False where an entry, or its labels, could not be read, or where the page contradicts itself: an entry twice, out of order, nothing
   * though more is to come, another page than was asked for. What it shows may be used; what it lacks is not absent.
   */
  readonly isWhole: boolean;
}

/** What a cloud may offer beyond the five operations. Whoever asks must be able to do without. */
export interface Capabilities {
  /**
   * Sets these labels on a machine that was just read, and leaves the others that it showed as they are. Absence is `not_found`.
   * Whoever asks has made sure that it is the machine that was meant, and that its labels could be read.
   */
  relabel?(machine: Pick<Machine, "providerId" | "labels">, labels: Labels): Promise<void>;
  /** The currency that the project is known to pay in where prices are to be told in another, and so are not; else null. */
  otherCurrency?(): string | null;
  /** The currency that the project is known to pay in; null while nobody has asked. */
  currency?(): string | null;
  /** Says what was known of it before, for this credential's project: so it need not be asked again. */
  recallCurrency?(currency: string): void;
  /** Whether the provider's rate limit leaves room for calls that can wait; deletes never ask. */
  hasHeadroom?(): boolean;
  /** Where it does not: throws the `rate_limited` that such a call would come to, which is not sent, with the seconds until there is room. */
  checkHeadroom?(): void;
  /** The machine of that provider name, whoever it belongs to; null where there is none. */
  readonly findByName?: (name: string) => Promise<Machine | null>;
  /**
   * One page of what `list` shows, counted from 1, in the order of ids: a shorter one before a longer one, those of one length as texts. Whatever is
   * new comes last. Null asks for the last page. Read from the last to the first, no machine is left out, though others come and go meanwhile. Where a list does not tell where it
   * ends, its last page is looked for, over at most `maxPages` pages (40 by default), and is an error `unexpected` if it is not found.
   */
  readonly inventoryPage?: (selector: Selector, number: number | null, options?: PageOptions) => Promise<InventoryPage>;
  /** Every server type that the cloud knows, with what it offers where. All pages or an error (S93). */
  serverTypes?(options?: PageOptions): Promise<readonly ServerType[]>;
  /**
   * The newest snapshot that a caller's `label_selector` names and that this server type can boot, as an image's id: of those that carry
   * the label `mayfly-image`, with any value, because every other one is somebody's disk. That there is none is `invalid_input`, and so
   * is a selector that asks for no label to be there.
   */
  findSnapshot?(labelSelector: string, serverType: string): Promise<string>;
  /**
   * Whether an image that a caller gives by name or id may be booted: a snapshot or a backup only with the label `mayfly-image`. Others
   * are `invalid_input` in the field `image`, and so is one that is not there. Names are the provider's own images, and cost no call.
   */
  checkImage?(image: string): Promise<void>;
  /** Reads an action that an order was answered with. Absence is `not_found`. */
  readonly action?: (id: string) => Promise<ProviderAction>;
  /**
   * Why the last deletion of a machine that is still there failed, in words for people; null where it did not, or where the machine is
   * gone.
   */
  readonly deletionError?: (providerId: string) => Promise<string | null>;
  readonly sshKeys?: SshKeys;
  readonly firewalls?: Firewalls;
  readonly networks?: Networks;
}
