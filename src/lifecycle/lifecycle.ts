/**
 * The use cases of a machine's life: create, look, destroy. Each writes down what it is about to do, does it, and writes
 * down what came of it, so that whatever is cut off in between can be taken up by the next call or the next sweep.
 * They know the driver contract and the store, never a cloud and never HTTP.
 */
import type { Driver, DriverError, DriverErrorCode } from "../driver/driver.ts";
import type { Capabilities } from "../driver/capabilities.ts";
import type { MachineRow } from "../machine/machine.ts";
import type { Rules } from "../machine/decide.ts";
import type { Problem } from "../machine/validation.ts";
import type { TriedCandidate } from "./candidates.ts";
import type { Store } from "../store/store.ts";

/** What every use case works with. */
export interface Deps {
  readonly store: Store;
  readonly driver: Driver;
  readonly capabilities: Capabilities;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly rules: Rules;
  /** Fingerprint of the provider credential in use. */
  readonly credential: () => Promise<string>;
}

export type RefusalCode =
  | "invalid_input"
  | "spec_mismatch"
  | "name_taken"
  | "releasing"
  | "released"
  | "expired"
  | "not_found"
  | "identity_mismatch"
  | "provider_protected"
  | "capacity"
  | "provider_quota"
  | "provider_unauthorized"
  | "provider_unavailable"
  | "creates_off"
  | "installation_changed";

/** Why a use case did not do what it was asked: a value, because the edge decides how to say it. */
export interface Refusal {
  readonly code: RefusalCode;
  /** What happened, in a sentence for people. */
  readonly message: string;
  /** What the caller can do about it. */
  readonly next: string;
  readonly retryAfterSeconds?: number;
  readonly problem?: Problem;
  /** Under `capacity`: what was tried. */
  readonly candidates?: readonly TriedCandidate[];
}

/** What a caller is told when another machine stands where the row's should be. */
export const IDENTITY_MISMATCH: Refusal = {
  code: "identity_mismatch",
  message: "What the provider shows under this machine's id is not the machine that was recorded.",
  next: "Have an admin compare the server's labels with the row; the server was left alone.",
};

/**
 * Whether what the provider does not show of a row is gone. Under another credential than the one it was made under the provider
 * may be looking into another project.
 */
export const mayConclude = async (
  { credential }: Pick<Deps, "credential">,
  row: Pick<MachineRow, "credential">,
): Promise<boolean> => row.credential === (await credential());

/** Rows of a machine that is seen belong to the credential in use, and with it all that were made under the same one. */
export async function adoptCredential(
  { store, credential }: Pick<Deps, "store" | "credential">,
  seen: readonly Pick<MachineRow, "credential">[],
): Promise<void> {
  const current = await credential();
  const others = new Set(seen.map((row) => row.credential).filter((one) => one !== current));
  await store.machines.adoptCredential([...others], current);
}

const DEFAULT_RETRY_SECONDS = 5;

type Meaning = { readonly code: RefusalCode; readonly next: string; readonly waits: boolean };

const LATER: Meaning = {
  code: "provider_unavailable",
  next: "Repeat the same call; it cannot double anything.",
  waits: true,
};

const MEANINGS: Partial<Record<DriverErrorCode, Meaning>> = {
  invalid_input: { code: "invalid_input", next: "Correct the request.", waits: false },
  name_taken: { code: "name_taken", next: "Choose another name.", waits: false },
  protected: {
    code: "provider_protected",
    next: "Lift the delete protection at the provider; the next sweep then destroys the machine.",
    waits: false,
  },
  capacity: { code: "capacity", next: "Try another server_type or region, or the same later.", waits: true },
  quota: {
    code: "provider_quota",
    next: "Destroy machines, or have the provider raise the project's limit.",
    waits: true,
  },
  unauthorized: { code: "provider_unauthorized", next: "An admin must check HCLOUD_TOKEN.", waits: true },
};

/** What a provider's failure means to a caller. */
export function refusalOf(error: DriverError): Refusal {
  const { code, next, waits } = MEANINGS[error.code] ?? LATER;
  return {
    code,
    next,
    message: error.message,
    ...(waits ? { retryAfterSeconds: error.retryAfter ?? DEFAULT_RETRY_SECONDS } : {}),
    ...(error.problem ? { problem: error.problem } : {}),
  };
}

export const LONGEST_BACK_OFF_MS = 15 * 60_000;

/**
 * How long to leave a machine alone after one more failure, `attempts` of them before: longer than a tick from the first on, so
 * that others come first, and a quarter of an hour at most.
 */
export const backOffMs = (attempts: number): number =>
  Math.min(90_000 * 2 ** Math.min(attempts, 10), LONGEST_BACK_OFF_MS);
