import { DriverError, type DriverErrorCode } from "../driver/driver.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { isLive, type Labels, type Machine, type MachineRow } from "../machine/machine.ts";
import { providerName } from "../machine/name.ts";
import type { MachineRequest, MachineSpec } from "../machine/spec.ts";
import { refusalOf, type Deps, type Refusal } from "./lifecycle.ts";

/** What one create is made under. */
export interface Terms {
  readonly provider: string;
  readonly installation: string;
  /** Fingerprint of the provider credential. */
  readonly credential: string;
  readonly defaultTtlMs: number;
  /** False while an admin holds the brake, or while this database belongs to another installation. */
  readonly creates: boolean;
}

export interface CreateCommand {
  readonly owner: string;
  readonly account: string;
  readonly name: string;
  /** Valid by `checkRequest`. */
  readonly request: MachineRequest;
  readonly specSha256: string;
  /** Null = the default. */
  readonly ttlMs: number | null;
  readonly requestId: string;
}

export type CreateResult =
  | { readonly ok: true; readonly row: MachineRow; readonly isNew: boolean }
  | { readonly ok: false; readonly refusal: Refusal };

/** One try owns a row for this long: the create call's own time-out and what it takes to record the outcome. */
const TRY_MS = 30_000;

/**
 * Lends a machine: the row first, then the provider, then the record. Owner and name decide which machine is meant: a
 * repeat is the same machine and never renews it, another spec is `spec_mismatch`, and a name whose machine is gone starts
 * anew (I3, P20). While one call is trying, others are told of the machine to come.
 *
 * An ambiguous failure leaves the row `requested`: the same call again looks and tries once more under the same provider
 * name, which the provider itself refuses to double.
 */
export async function createMachine(
  deps: Deps & { readonly newUid: () => string; readonly terms: Terms },
  command: CreateCommand,
): Promise<CreateResult> {
  const { store, terms } = deps;
  // Twice, because a row can appear, or end, between the look and the insert.
  for (let look = 0; look < 2; look++) {
    const existing = await store.machines.byName(command.owner, command.name);
    if (existing !== null && isLive(existing)) return repeat(deps, existing, command);
    if (!terms.creates) return { ok: false, refusal: CREATES_OFF };
    const now = deps.now();
    const row = {
      uid: deps.newUid(),
      owner: command.owner,
      account: command.account,
      name: command.name,
      provider: terms.provider,
      providerName: await providerName(terms.installation, command.owner, command.name),
      installation: terms.installation,
      credential: terms.credential,
      specSha256: command.specSha256,
      serverType: command.request.serverType,
      region: command.request.region,
      image: command.request.image,
      labels: command.request.labels,
      requestedAt: now,
      expiresAt: now + (command.ttlMs ?? terms.defaultTtlMs),
      maxUntil: now + deps.rules.maxAgeMs,
    };
    if (await store.machines.insert(row, now + TRY_MS, command.requestId))
      return attempt(deps, row, command.request, false);
  }
  return { ok: false, refusal: RELEASING };
}

const CREATES_OFF: Refusal = {
  code: "creates_off",
  message: "New machines are switched off here; those that exist are looked after as ever.",
  next: "Ask an admin, or try later.",
  retryAfterSeconds: 60,
};
const RELEASING: Refusal = {
  code: "releasing",
  message: "The machine that had this name is still being destroyed.",
  next: "Repeat the call when it is gone.",
  retryAfterSeconds: 5,
};
const RELEASED: Refusal = {
  code: "released",
  message: "The machine was destroyed on its owner's word while it was being created.",
  next: "Repeat the call to start a new one.",
  retryAfterSeconds: 5,
};

async function repeat(deps: Deps, row: MachineRow, command: CreateCommand): Promise<CreateResult> {
  if (row.phase === "destroying" || row.expiresAt <= deps.now()) return { ok: false, refusal: RELEASING };
  if (row.specSha256 !== command.specSha256)
    return {
      ok: false,
      refusal: {
        code: "spec_mismatch",
        message: `The live machine ${row.name} was asked for with another body.`,
        next: "Destroy it first, use another name, or repeat the first body.",
      },
    };
  const mayTry =
    row.phase === "requested" && (await deps.store.machines.claimCreate(row.uid, deps.now(), deps.now() + TRY_MS));
  return mayTry ? attempt(deps, row, command.request, true) : { ok: true, row, isNew: false };
}

type Planned = Pick<
  MachineRow,
  "uid" | "owner" | "name" | "providerName" | "installation" | "requestedAt" | "expiresAt" | "maxUntil"
>;

/** `resumed`: an earlier try may have had an effect that nobody saw, so no refusal of this one proves there is none. */
async function attempt(deps: Deps, row: Planned, request: MachineRequest, resumed: boolean): Promise<CreateResult> {
  const { store, driver } = deps;
  let machine: Machine;
  try {
    machine = await driver.create(specOf(row, request));
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const refusal = (await isReleasing(deps, error.existing, row)) ? RELEASING : refusalOf(error);
    if (isDefinite(error, resumed)) await store.machines.fail(row.uid, refusal.code, error.message, deps.now());
    else await store.machines.giveBack(row.uid, error.message, deps.now());
    return { ok: false, refusal };
  }
  const [recorded] = await store.machines.observe([{ uid: row.uid, machine }], deps.now());
  if (recorded) return { ok: true, row: recorded, isNew: !resumed };
  return settleUnrecorded(deps, row.uid, machine);
}

/** Refusals that say that nothing was made. Everything else may have had an effect that nobody saw. */
const NOTHING_MADE: ReadonlySet<DriverErrorCode> = new Set([
  "invalid_input",
  "unauthorized",
  "capacity",
  "quota",
  "rate_limited",
]);

function isDefinite({ code, ambiguous, existing }: DriverError, resumed: boolean): boolean {
  // Names are unique at the provider: whoever was seen to hold this one, ours does not exist.
  if (code === "name_taken" && existing !== undefined) return true;
  return !resumed && !ambiguous && NOTHING_MADE.has(code);
}

/** The record found no row to take it: the owner's DELETE, or another call, came first. */
async function settleUnrecorded({ store, driver, now }: Deps, uid: string, machine: Machine): Promise<CreateResult> {
  const current = await store.machines.byUid(uid);
  if (current !== null && isLive(current) && current.phase !== "destroying")
    return { ok: true, row: current, isNew: false };
  try {
    await driver.destroy(machine.providerId);
    await store.machines.markDestroyed([{ uid, reason: "requested" }], now());
  } catch (error) {
    // The owner's word stands in the row, and the sweep goes by it.
    if (!(error instanceof DriverError)) throw error;
    await store.machines.giveBack(uid, error.message, now());
  }
  return { ok: false, refusal: RELEASED };
}

/** Whether the name is held by a machine of the same owner whose row is a tombstone, and so by one that is going away. */
async function isReleasing({ store }: Deps, existing: Machine | undefined, row: Planned): Promise<boolean> {
  if (existing?.labels[LABEL.installation] !== row.installation || existing.labels[LABEL.owner] !== row.owner)
    return false;
  const other = await store.machines.byUid(uidIn(existing.labels));
  return other !== null && !isLive(other);
}

const seconds = (milliseconds: number): string => String(Math.floor(milliseconds / 1000));

function specOf(row: Planned, request: MachineRequest): MachineSpec {
  const labels: Labels = {
    ...request.labels,
    [LABEL.managed]: "true",
    [LABEL.uid]: row.uid,
    [LABEL.installation]: row.installation,
    [LABEL.owner]: row.owner,
    [LABEL.name]: row.name,
    [LABEL.expires]: seconds(row.expiresAt),
    [LABEL.max]: seconds(row.maxUntil),
    [LABEL.created]: seconds(row.requestedAt),
  };
  return { ...request, name: row.providerName, labels, sshKeyIds: [], networkIds: [] };
}
