import { DriverError } from "../driver/driver.ts";
import { creationTime, labelTime } from "../machine/age.ts";
import { isOurs } from "../machine/ownership.ts";
import { promisedMax } from "../machine/lease.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { isUid } from "../machine/name.ts";
import type { NewMachine } from "../store/machines.ts";
import { isGone } from "./destroy.ts";
import type { Context } from "./context.ts";
import type { Refusal, TriedCandidate } from "./refusal.ts";

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
 * Writes down what was made. Where no row takes it: a tombstone means that its owner's word, or another call, came first, and
 * what was made dies; a row that is gone, as after the loss of D1, is written again.
 */
export async function record(
  deps: Context,
  row: NewMachine & Pick<MachineRow, "attachments">,
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
      await store.endings.markDestroyed([{ uid: row.uid, reason: "requested" }], now());
      return refused(RELEASED);
    }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
  }
  // It may still be there, and a tombstone alone would be looked at by nobody before `MAX_AGE`.
  await store.endings.reopen(row.uid, machine.providerId, now());
  return refused(RELEASED);
}

/**
 * The name is held by a machine that carries this owner's and name's labels. Of a tombstone it is on its way out: `releasing`.
 * Of no row at all D1 has lost it, and it is this row's machine: adopted with its own uid and lease (P20). Null = a stranger's.
 */
export async function heldByOurs(
  { store, rules, now }: Context,
  existing: Machine,
  row: NewMachine,
): Promise<CreateResult | null> {
  const { labels } = existing;
  const isHis =
    isOurs(existing, rules.installations) && labels[LABEL.owner] === row.owner && labels[LABEL.name] === row.name;
  const uid = uidIn(labels);
  if (!isHis || !isUid(uid)) return null;
  const fail = () => store.endings.fail([{ uid: row.uid, reason: "releasing" }], now());
  const created = creationTime(existing);
  const known = await store.machines.byUid(uid);
  // Given up before: whoever took our labels off and put them back has a machine of their own.
  if (known?.phase === "disowned") return null;
  // It was found again under another name, because a row that was set back had this one.
  if (known !== null && isLive(known) && known.owner === row.owner && known.phase !== "destroying") {
    await fail();
    const isHisStill = known.expiresAt > now() && (await store.machines.rename(uid, row.name));
    return isHisStill ? done({ ...known, name: row.name }, false) : refused(RELEASING);
  }
  if (known !== null || created === null || existing.status === "deleting") {
    await fail();
    return refused(RELEASING);
  }
  const maxUntil = promisedMax(labels, created, rules);
  const expiresAt = Math.min(labelTime(labels, LABEL.expires) ?? maxUntil, maxUntil);
  const adopted = await store.machines.adopt(row.uid, {
    uid,
    requestedAt: created,
    expiresAt,
    maxUntil,
    credential: row.credential,
  });
  // Somebody else has given it a row by now.
  if (adopted === null) await fail();
  const [recorded] = adopted ? await store.machines.observe([{ uid, machine: existing }], now()) : [];
  return recorded && recorded.expiresAt > now() ? done(recorded, false) : refused(RELEASING);
}

export const RELEASING: Refusal = {
  code: "releasing",
  message: "The machine that had this name is still being destroyed.",
  next: "Repeat the call when it is gone.",
  retryAfterSeconds: 5,
};
export const RELEASED: Refusal = {
  code: "released",
  message: "The machine was destroyed on its owner's word while it was being created.",
  next: "Repeat the call to start a new one.",
  retryAfterSeconds: 5,
};
