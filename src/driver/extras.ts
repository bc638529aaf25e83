import type { Labels } from "../machine/machine.ts";
import type { Selector } from "../machine/selector.ts";
import type { ServerType } from "../machine/server-type.ts";
import type { Driver } from "./driver.ts";

/** Keys that machines let in. Ids are the provider's. */
export interface SshKeys {
  /**
   * Uploads a key under a name, or finds the one that is there: equal bytes under any name are `reused` (S98, S100), an equal
   * name with other bytes is `name_taken` (S99). A reused key is left as it is, and is not ours to delete (S103, S104).
   */
  ensure(name: string, publicKey: string, labels: Labels): Promise<{ readonly id: string; readonly reused: boolean }>;
  /** The ids of all keys that match every label. */
  list(selector: Selector): Promise<string[]>;
  /** Makes a key go away; one that is not there is success. Machines that run keep it. */
  delete(id: string): Promise<void>;
}

/** A cloud as it is opened: the five operations, and beside them whatever else it can do. */
export interface Provider {
  readonly driver: Driver;
  readonly extras: Extras;
}

/** What a cloud may offer beyond the five operations. Whoever asks must be able to do without. */
export interface Extras {
  /** Sets these labels on a machine and leaves its others as they are. Absence is `not_found`. */
  relabel?(providerId: string, labels: Labels): Promise<void>;
  /** Every server type that the cloud knows, with what it offers where. All pages or an error (S93). */
  serverTypes?(): Promise<readonly ServerType[]>;
  readonly sshKeys?: SshKeys;
}
