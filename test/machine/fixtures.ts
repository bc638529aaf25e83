import * as fc from "fast-check";
import { LABEL } from "../../src/machine/labels.ts";
import type { Rules } from "../../src/machine/rules.ts";
import type { Machine, MachineRow } from "../../src/machine/machine.ts";
import type { MachineSpec } from "../../src/machine/spec.ts";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const CREATED = Date.UTC(2026, 10, 30, 12);

export const UID = "00000000-0000-4000-8000-000000000001";
export const OTHER_UID = "00000000-0000-4000-8000-000000000002";
export const INSTALLATION = "test-installation-1";

export const RULES: Rules = {
  installations: [INSTALLATION, "previous-installation"],
  maxAgeMs: DAY,
  graceMs: 10 * MINUTE,
  launchDeadlineMs: 15 * MINUTE,
};

/** As a label carries a time. */
export const seconds = (milliseconds: number): string => String(Math.floor(milliseconds / SECOND));

export const OUR_LABELS = {
  [LABEL.managed]: "true",
  [LABEL.uid]: UID,
  [LABEL.installation]: INSTALLATION,
  [LABEL.owner]: "tok.ci",
  [LABEL.name]: "job",
};

/** A running machine of ours, an hour promised. */
export const machineOf = (change: Partial<Machine> = {}): Machine => ({
  hasLabels: true,
  providerId: "1",
  name: "job-abcdefghijklm",
  status: "running",
  labels: {
    ...OUR_LABELS,
    [LABEL.created]: seconds(CREATED),
    [LABEL.expires]: seconds(CREATED + HOUR),
    [LABEL.max]: seconds(CREATED + DAY),
  },
  arch: "amd64",
  serverType: "cx23",
  region: "fsn1",
  publicIpv4: "192.0.2.1",
  publicIpv6: "2001:db8::",
  privateIpv4: "",
  createdAt: CREATED,
  priceEurPerHour: 0.008,
  priceEurPerMonth: 5,
  ipv4EurPerHour: 0.001,
  ipv4EurPerMonth: 0.6,
  deleteProtected: false,
  attached: { firewallIds: [], pendingFirewallIds: [], networkIds: [] },
  ...change,
});

/** The row of that machine. */
export const rowOf = (change: Partial<MachineRow> = {}): MachineRow => ({
  labelUid: null,
  attachments: null,
  uid: UID,
  owner: "tok.ci",
  account: "tok.ci",
  name: "job",
  provider: "hetzner",
  providerName: "job-abcdefghijklm",
  providerId: "1",
  installation: INSTALLATION,
  credential: "fingerprint",
  phase: "active",
  status: "running",
  reason: null,
  specSha256: "0".repeat(64),
  specFields: null,
  serverType: "cx23",
  region: "fsn1",
  image: "debian-12",
  arch: "amd64",
  labels: {},
  publicIpv4: "192.0.2.1",
  publicIpv6: "2001:db8::",
  privateIpv4: "",
  priceMicroEur: 8000,
  priceMonthMicroEur: 5_000_000,
  ipv4MicroEur: 1000,
  ipv4MonthMicroEur: 600_000,
  hasIpv4: true,
  requestedAt: CREATED,
  createdAt: CREATED,
  expiresAt: CREATED + HOUR,
  maxUntil: CREATED + DAY,
  observedAt: CREATED,
  keepOnFailureMs: null,
  labelExpiresAt: null,
  deleteAcceptedAt: null,
  triedAt: null,
  missingSince: null,
  mismatchedSince: null,
  destroyRequestedAt: null,
  destroyedAt: null,
  attempts: 0,
  nextTryAt: null,
  lastError: null,
  ...change,
});

export const specOf = (change: Partial<MachineSpec> = {}): MachineSpec => ({
  name: "job",
  region: "fsn1",
  serverType: "cx23",
  cloudInit: "",
  labels: {},
  image: "debian-12",
  enableIpv4: true,
  enableIpv6: true,
  sshKeyIds: [],
  networkIds: [],
  firewallIds: [],
  ...change,
});

/** The smallest case for which something does not hold, or null: `expect(counterexample(…)).toBeNull()` shows it. */
export const counterexample = <T>(cases: fc.Arbitrary<T>, holds: (one: T) => boolean, numRuns = 2000): [T] | null =>
  fc.check(fc.property(cases, holds), { numRuns }).counterexample;
