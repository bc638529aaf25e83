import { DriverError, type DriverErrorCode } from "../driver/driver.ts";
import { creationTime, labelTime } from "../machine/age.ts";
import { isOurs, promisedMax } from "../machine/decide.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { isLive, type Labels, type Machine, type MachineRow } from "../machine/machine.ts";
import { isUid, providerName } from "../machine/name.ts";
import type { MachineRequest, MachineSpec } from "../machine/spec.ts";
import type { NewMachine } from "../store/machines.ts";
import { isGone } from "./destroy.ts";
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
  /** Null = not at all. */
  readonly keepOnFailureMs: number | null;
  readonly requestId: string;
}

export type CreateResult =
  | { readonly ok: true; readonly row: MachineRow; readonly isNew: boolean }
  | { readonly ok: false; readonly refusal: Refusal };

const done = (row: MachineRow, isNew: boolean): CreateResult => ({ ok: true, row, isNew });
const refused = (refusal: Refusal): CreateResult => ({ ok: false, refusal });

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
    if (!terms.creates) return refused(CREATES_OFF);
    const now = deps.now();
    const forbidden = await store.tombstones.until(command.owner, command.name, now);
    if (forbidden !== null) return refused(givenUp(forbidden - now));
    const row: NewMachine = {
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
      keepOnFailureMs: command.keepOnFailureMs,
    };
    if (await store.machines.insert(row, now + TRY_MS, command.requestId))
      return attempt(deps, row, command.request, false);
  }
  return refused(RELEASING);
}

async function repeat(deps: Deps, row: MachineRow, command: CreateCommand): Promise<CreateResult> {
  if (row.phase === "destroying" || row.expiresAt <= deps.now()) return refused(RELEASING);
  if (row.specSha256 !== command.specSha256) return refused(specMismatch(row.name));
  const now = deps.now();
  const mayTry = row.phase === "requested" && (await deps.store.machines.claimCreate(row.uid, now, now + TRY_MS));
  return mayTry ? attempt(deps, row, command.request, true) : done(row, false);
}

/** `resumed`: an earlier try may have had an effect that nobody saw, so no refusal of this one proves there is none. */
async function attempt(deps: Deps, row: NewMachine, request: MachineRequest, resumed: boolean): Promise<CreateResult> {
  const { store, driver } = deps;
  let machine: Machine;
  try {
    machine = await driver.create(specOf(row, request));
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const held = error.existing && (await heldByOurs(deps, error.existing, row));
    if (held) return held;
    const refusal = refusalOf(error);
    if (isDefinite(error, resumed)) await store.machines.fail([{ uid: row.uid, reason: refusal.code }], deps.now());
    else await store.machines.giveBack(row.uid, error.message, deps.now());
    return refused(refusal);
  }
  return record(deps, row, machine, !resumed);
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

/**
 * Writes down what was made. Where no row takes it: a tombstone means that its owner's word, or another call, came first, and
 * what was made dies; a row that is gone, as after the loss of D1, is written again.
 */
async function record(deps: Deps, row: NewMachine, machine: Machine, isNew: boolean): Promise<CreateResult> {
  const { store, driver, now } = deps;
  const [recorded] = await store.machines.observe([{ uid: row.uid, machine }], now());
  if (recorded) return done(recorded, isNew);
  const current = await store.machines.byUid(row.uid);
  if (current === null) {
    if (!(await store.machines.insert(row, now(), null))) return refused(RELEASING);
    const [again] = await store.machines.observe([{ uid: row.uid, machine }], now());
    if (again) return done(again, isNew);
  }
  if (current !== null && isLive(current) && current.phase !== "destroying") return done(current, false);
  try {
    await driver.destroy(machine.providerId);
    if (await isGone(driver, machine.providerId))
      await store.machines.markDestroyed([{ uid: row.uid, reason: "requested" }], now());
  } catch (error) {
    // The owner's word stands in the row, and the sweep goes by it.
    if (!(error instanceof DriverError)) throw error;
    await store.machines.giveBack(row.uid, error.message, now());
  }
  return refused(RELEASED);
}

/**
 * The name is held by a machine that carries this owner's and name's labels. Of a tombstone it is on its way out: `releasing`.
 * Of no row at all D1 has lost it, and it is this row's machine: adopted with its own uid and lease (P20). Null = a stranger's.
 */
async function heldByOurs(
  { store, rules, now }: Deps,
  existing: Machine,
  row: NewMachine,
): Promise<CreateResult | null> {
  const { labels } = existing;
  const isHis =
    isOurs(existing, rules.installations) && labels[LABEL.owner] === row.owner && labels[LABEL.name] === row.name;
  const uid = uidIn(labels);
  if (!isHis || !isUid(uid)) return null;
  const fail = () => store.machines.fail([{ uid: row.uid, reason: "releasing" }], now());
  const created = creationTime(existing);
  const isTombstone = (await store.machines.byUid(uid)) !== null;
  if (isTombstone || created === null || existing.status === "deleting") {
    await fail();
    return refused(RELEASING);
  }
  const maxUntil = promisedMax(labels, created, rules);
  const expiresAt = Math.min(labelTime(labels, LABEL.expires) ?? maxUntil, maxUntil);
  const adopted = await store.machines.adopt(row.uid, { uid, requestedAt: created, expiresAt, maxUntil });
  const [recorded] = adopted ? await store.machines.observe([{ uid, machine: existing }], now()) : [];
  return recorded && recorded.expiresAt > now() ? done(recorded, false) : refused(RELEASING);
}

const seconds = (milliseconds: number): string => String(Math.floor(milliseconds / 1000));

function specOf(row: NewMachine, request: MachineRequest): MachineSpec {
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
const givenUp = (leftMs: number): Refusal => ({
  code: "released",
  message: "Its owner gave this name up before a machine had it.",
  next: "Nothing, if that was meant; else repeat the call when the tombstone has ended, or use another name.",
  retryAfterSeconds: Math.ceil(leftMs / 1000),
});
const specMismatch = (name: string): Refusal => ({
  code: "spec_mismatch",
  message: `The live machine ${name} was asked for with another body.`,
  next: "Destroy it first, use another name, or repeat the first body.",
});
