import type { Labels } from "../machine/machine.ts";
import type { ServerType } from "../machine/server-type.ts";
import type { Driver } from "./driver.ts";

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
}
