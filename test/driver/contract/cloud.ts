import { expect } from "vitest";
import { DriverError, type Driver } from "../../../src/driver/driver.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Labels } from "../../../src/machine/machine.ts";
import type { MachineSpec } from "../../../src/machine/spec.ts";

export const NOW = Date.UTC(2026, 10, 30, 12);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const UID = "3f2b8a52-0d5e-4c0b-9a51-7f6d0c1e2a34";
export const OTHER_UID = "9c1d7e60-4b1f-4f3e-8a77-5e2f9b0c4d11";

/** A machine that is simply there, whoever made it. */
export interface Seed {
  readonly name: string;
  readonly labels?: Labels;
  /** Unix milliseconds; null for a provider that does not say; an hour ago when absent. */
  readonly createdAt?: number | null;
  readonly status?: "running" | "stopped" | "deleting";
  readonly publicIpv4?: string;
  readonly deleteProtected?: boolean;
}

/** One cloud with a driver to it, and what a test does behind that driver's back. */
export interface Cloud {
  readonly driver: Driver;
  readonly now: () => number;
  readonly advance: (milliseconds: number) => void;
  /** Puts a machine in and gives its provider id. */
  readonly put: (seed: Seed) => string;
  readonly readdress: (providerId: string, publicIpv4: string) => Promise<void>;
  /** The names of everything that exists, in ascending order. */
  readonly names: () => string[];
  /** Something that can be ordered and has a price. */
  readonly offer: { readonly region: string; readonly serverType: string };
  /** A well-formed id of nothing. */
  readonly absentId: string;
  /** Ids that this driver cannot have minted. */
  readonly foreignIds: readonly string[];
}

export type OpenCloud = () => Cloud;

/** A spec that asks for no more than it must. */
export const spec = (over: Partial<MachineSpec> = {}): MachineSpec => ({
  name: "ci-1",
  region: "fsn1",
  serverType: "cx23",
  cloudInit: "",
  labels: { [LABEL.managed]: "true", [LABEL.uid]: UID },
  image: "debian-12",
  enableIpv4: true,
  enableIpv6: true,
  sshKeyIds: [],
  networkIds: [],
  firewallIds: [],
  ...over,
});

/** The error that an operation fails with, which must be the driver's own. */
export async function failureOf(operation: Promise<unknown>): Promise<DriverError> {
  const outcome: unknown = await operation.then(
    () => "it succeeded",
    (error: unknown) => error,
  );
  if (outcome instanceof DriverError) return outcome;
  return expect.fail(`expected a DriverError, got: ${String(outcome)}`);
}
