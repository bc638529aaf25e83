import { DriverError, invalidInput, type DriverErrorCode } from "../driver/driver.ts";
import { creationTime, labelTime } from "../machine/age.ts";
import { isOurs, promisedMax } from "../machine/decide.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { isLive, type Attachments, type Labels, type Machine, type MachineRow } from "../machine/machine.ts";
import { isUid } from "../machine/name.ts";
import type { Candidate, MachineRequest, MachineSpec } from "../machine/spec.ts";
import type { NewMachine } from "../store/machines.ts";
import { attach, type AttachedIds } from "./attachments.ts";
import { coolLast, COOL_DOWN_MS, isSamePair, MOST_TRIED, outcomeOf, type TriedCandidate } from "./candidates.ts";
import { isGone } from "./destroy.ts";
import type { CreateCommand } from "./create.ts";
import { refusalOf, type Deps, type Refusal } from "./lifecycle.ts";
import type { ResourceDeps } from "./resources.ts";
import { TRY_MS } from "./terms.ts";

export type CreateResult =
  | {
      readonly ok: true;
      readonly row: MachineRow;
      readonly isNew: boolean;
      /** What was chosen, and why the others were not; empty where nothing was tried. */
      readonly candidates: readonly TriedCandidate[];
    }
  | { readonly ok: false; readonly refusal: Refusal };

export const done = (row: MachineRow, isNew: boolean, candidates: readonly TriedCandidate[] = []): CreateResult => ({
  ok: true,
  row,
  isNew,
  candidates,
});
export const refused = (refusal: Refusal): CreateResult => ({ ok: false, refusal });

/**
 * Tries to make a row's machine: each candidate once, in order, and only a definite refusal for shortage moves on to the next.
 * `resumed`: an earlier try may have had an effect that nobody saw, so no refusal of this one proves that there is none.
 */
export async function attempt(
  deps: ResourceDeps,
  row: NewMachine,
  { request, candidates, attachments }: Pick<CreateCommand, "request" | "candidates" | "attachments">,
  resumed: boolean,
): Promise<CreateResult> {
  const { store, driver, now } = deps;
  const tried: TriedCandidate[] = [];
  const attached = await attach(deps, row, attachments, resumed);
  if (!attached.ok) {
    await giveUp(deps, row, attached.refusal, !resumed);
    return refused(attached.refusal);
  }
  const snapshots = new Map<string, string>();
  for (const candidate of (await coolLast(deps, candidates)).slice(0, MOST_TRIED)) {
    try {
      const image = await imageOf(deps, request, candidate, snapshots);
      // The row owns each further try anew, and shows what is being tried.
      const chosen = { ...candidate, image, attachments: toConfirm(attached.ids) };
      if (!(await store.machines.choose(row.uid, chosen, now(), now() + TRY_MS))) return refused(RELEASED);
      const machine = await driver.create(specOf(row, { ...request, ...candidate, image }, attached.ids));
      const isOpen = (one: Candidate) => ![candidate, ...tried].some((other) => isSamePair(other, one));
      const told = [
        ...tried,
        outcomeOf(candidate, "chosen"),
        ...candidates.filter(isOpen).map((one) => outcomeOf(one, "not_tried")),
      ];
      return await record(deps, row, machine, !resumed, told);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      if (error.code === "capacity" && !error.ambiguous) {
        tried.push(outcomeOf(candidate, "capacity", error.message));
        await store.cooldowns.add(row.provider, candidate, now() + COOL_DOWN_MS);
        continue;
      }
      const held = error.existing && (await heldByOurs(deps, error.existing, row));
      if (held) return held;
      const refusal = attachments.length > 0 ? hinted(refusalOf(error)) : refusalOf(error);
      await giveUp(deps, row, refusal, isDefinite(error, resumed));
      return refused(refusal);
    }
  }
  const untried = candidates.filter((one) => !tried.some((other) => isSamePair(one, other)));
  const refusal = noRoom([...tried, ...untried.map((one) => outcomeOf(one, "not_tried"))]);
  await giveUp(deps, row, refusal, !resumed);
  return refused(refusal);
}

/** The provider's own words about what is attached name no field of the caller's. */
const hinted = (refusal: Refusal): Refusal =>
  refusal.code === "invalid_input" && refusal.problem?.field === "body"
    ? {
        ...refusal,
        next: "If it is about a key, a firewall or a network that is gone there: DELETE it here, create it anew.",
      }
    : refusal;

/** A try is over: the row has failed where it is certain that nothing was made, else the next call or sweep goes on with it. */
async function giveUp({ store, now }: Deps, row: NewMachine, refusal: Refusal, isCertain: boolean): Promise<void> {
  if (isCertain) await store.machines.fail([{ uid: row.uid, reason: refusal.code }], now());
  else await store.machines.giveBack(row.uid, refusal.message, now());
}

/** What the machine is to be seen with once it runs; a key cannot be seen. */
const toConfirm = ({ firewallIds, networkIds }: AttachedIds): Attachments | null =>
  firewallIds.length + networkIds.length === 0 ? null : { firewallIds, networkIds };

/** The image by name or id: of a selector the newest snapshot that the candidate can boot, asked for once a server type. */
async function imageOf(
  { extras }: Deps,
  { image, isImageSelector }: MachineRequest,
  { serverType }: Candidate,
  known: Map<string, string>,
): Promise<string> {
  if (!isImageSelector) return image;
  const found = known.get(serverType) ?? (await extras.findSnapshot?.(image, serverType));
  if (found !== undefined) {
    known.set(serverType, found);
    return found;
  }
  throw invalidInput({ field: "image", rule: "must be a name or an id: this provider has no snapshots" });
}

function noRoom(tried: readonly TriedCandidate[]): Refusal {
  const pairs = tried.map(
    ({ serverType, region, reason }) => `${serverType} in ${region} (${reason ?? "not tried yet"})`,
  );
  return {
    code: "capacity",
    message: `The provider has no room: ${pairs.join("; ")}.`,
    next: "Offer more server types or regions, or the same later.",
    retryAfterSeconds: 30,
    candidates: tried,
  };
}

/** Refusals that say that nothing was made. Everything else may have had an effect that nobody saw. */
const NOTHING_MADE: ReadonlySet<DriverErrorCode> = new Set(["invalid_input", "unauthorized", "quota", "rate_limited"]);

function isDefinite({ code, ambiguous, existing }: DriverError, resumed: boolean): boolean {
  // Names are unique at the provider: whoever was seen to hold this one, ours does not exist.
  if (code === "name_taken" && existing !== undefined) return true;
  return !resumed && !ambiguous && NOTHING_MADE.has(code);
}

/**
 * Writes down what was made. Where no row takes it: a tombstone means that its owner's word, or another call, came first, and
 * what was made dies; a row that is gone, as after the loss of D1, is written again.
 */
async function record(
  deps: Deps,
  row: NewMachine,
  machine: Machine,
  isNew: boolean,
  candidates: readonly TriedCandidate[],
): Promise<CreateResult> {
  const { store, driver, now } = deps;
  const [recorded] = await store.machines.observe([{ uid: row.uid, machine }], now());
  if (recorded) return done(recorded, isNew, candidates);
  const current = await store.machines.byUid(row.uid);
  if (current === null) {
    if (!(await store.machines.insert(row, now(), null))) return refused(RELEASING);
    const [again] = await store.machines.observe([{ uid: row.uid, machine }], now());
    if (again) return done(again, isNew, candidates);
  }
  if (current !== null && isLive(current) && current.phase !== "destroying") return done(current, false);
  try {
    await driver.destroy(machine.providerId);
    if (await isGone(driver, machine.providerId)) {
      await store.machines.markDestroyed([{ uid: row.uid, reason: "requested" }], now());
      return refused(RELEASED);
    }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
  }
  // It may still be there, and a tombstone alone would be looked at by nobody before `MAX_AGE`.
  await store.machines.reopen(row.uid, machine.providerId, now());
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
  const known = await store.machines.byUid(uid);
  // Given up before: whoever took our labels off and put them back has a machine of their own.
  if (known?.phase === "disowned") return null;
  const isTombstone = known !== null;
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

function specOf(row: NewMachine, request: MachineRequest & Candidate, ids: AttachedIds): MachineSpec {
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
  return { ...request, ...ids, name: row.providerName, labels };
}

export const RELEASING: Refusal = {
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
