import { accountOf } from "../auth/principal.ts";
import { getIfThere } from "../driver/driver.ts";
import { creationTime, labelTime } from "../machine/age.ts";
import { isOurs } from "../machine/ownership.ts";
import { decide } from "../machine/decide.ts";
import { promisedMax } from "../machine/lease.ts";
import { accountIn, LABEL, uidIn } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { isUid } from "../machine/name.ts";
import { present } from "../machine/sighting.ts";
import type { NewMachine } from "../store/machines.ts";
import { destroyIfDue, isGone } from "./destroy.ts";
import { orphanOf } from "./adopt.ts";
import type { Context } from "./context.ts";
import type { MachineOrder } from "./order.ts";
import {
  done,
  onDriverError,
  refused,
  specMismatch,
  type Outcome,
  type Refusal,
  type TriedCandidate,
} from "./refusal.ts";
import { differingFields } from "./spec-fields.ts";

/** The machine that a create answers. */
export interface Created {
  readonly row: MachineRow;
  readonly isNew: boolean;
  /** What was chosen, and why the others were not; empty where nothing was tried. */
  readonly candidates: readonly TriedCandidate[];
}

/** One that was there already. */
export const known = (row: MachineRow): Outcome<Created> => done({ row, isNew: false, candidates: [] });

/**
 * Writes down what was made. Where no row takes it: a tombstone means that its owner's word, or another call, came first, and
 * what was made dies; a row that is gone, as after the loss of D1, is written again.
 */
export async function record(
  context: Context,
  row: NewMachine & Pick<MachineRow, "attachments">,
  machine: Machine,
  story: Omit<Created, "row">,
): Promise<Outcome<Created>> {
  const { store, driver, now } = context;
  const [recorded] = await store.machines.observe([{ uid: row.uid, machine }], now());
  if (recorded) return done({ row: recorded, ...story });
  const current = await store.machines.byUid(row.uid);
  if (current === null) {
    if (!(await store.machines.insert(row, now()))) return refused(RELEASING);
    const [again] = await store.machines.observe([{ uid: row.uid, machine }], now());
    if (again) return done({ row: again, ...story });
  }
  if (current !== null && isLive(current) && current.phase !== "destroying") return known(current);
  // An answer is no look: what it tells the id of may be another's.
  const isOver = await onDriverError(
    async () => {
      const seen = await getIfThere(driver, machine.providerId);
      if (seen === null) return true;
      const { act, isProven } = await destroyIfDue(context, current, present(seen), now());
      return isProven || (act === "destroy" && (await isGone(driver, machine.providerId)));
    },
    () => false,
  );
  if (isOver) {
    await store.endings.close([{ uid: row.uid, reason: "requested", phase: "destroyed" }], now());
    await store.endings.endLater([{ uid: row.uid, machine }], now());
  }
  // It may still be there, and a tombstone alone would be looked at by nobody before `MAX_AGE`.
  else await store.endings.reopen([{ uid: row.uid, machine }], now());
  return refused(RELEASED);
}

/**
 * The name is held by a machine that carries this owner's and name's labels. Of a tombstone it is on its way out: `releasing`.
 * Of a row that was only closed because nobody saw it, it has that row again. Of no row at all D1 has lost it, and it is this row's machine:
 * adopted with its own uid and lease (P20). Null = a stranger's.
 */
export async function heldByOurs(
  context: Context,
  existing: Machine,
  row: NewMachine,
  said: MachineOrder,
): Promise<Outcome<Created> | null> {
  const { store, rules, now } = context;
  const { labels } = existing;
  const isHis =
    isOurs(existing, rules.installations) && labels[LABEL.owner] === row.owner && labels[LABEL.name] === row.name;
  const uid = uidIn(labels);
  if (!isHis || !isUid(uid)) return null;
  const fail = () => store.endings.fail([{ uid: row.uid, reason: "releasing" }], now());
  const created = creationTime(existing, now());
  // By its id first: one that was found again may have a row under another uid than its label tells.
  const holder = (await store.machines.ofMachines([existing])).get(existing.providerId) ?? null;
  // Given up before: whoever took our labels off and put them back has a machine of their own.
  if (holder?.phase === "disowned") return null;
  // It was found again under another name, because a row that was set back had this one.
  if (holder !== null && isLive(holder) && holder.owner === row.owner && holder.phase !== "destroying") {
    await fail();
    const isHisStill = holder.expiresAt > now() && (await store.machines.rename(holder.uid, row.name));
    return isHisStill ? known({ ...holder, name: row.name }) : refused(RELEASING);
  }
  if (holder !== null && decide(holder, present(existing, true), now(), rules).reason === "reappeared") {
    await fail();
    return revive(context, existing, holder, { specSha256: row.specSha256, said });
  }
  if (holder !== null || created === null || existing.status === "deleting") {
    await fail();
    return refused(RELEASING);
  }
  const maxUntil = promisedMax(labels, created, rules);
  const expiresAt = Math.min(labelTime(labels, LABEL.expires) ?? maxUntil, maxUntil);
  const found = {
    uid,
    account: accountIn(labels) ?? accountOf(row.owner),
    requestedAt: created,
    expiresAt,
    maxUntil,
    credential: row.credential,
    hasIpv4: existing.publicIpv4 !== "",
  };
  const adopted = await store.machines.adopt(row.uid, found, now());
  // Somebody else has given it a row by now.
  if (adopted === null) await fail();
  const [recorded] = adopted ? await store.machines.observe([{ uid, machine: existing }], now()) : [];
  return recorded && recorded.expiresAt > now() ? known(recorded) : refused(RELEASING);
}

/** Its create was given up and has landed late: it is what its owner asked for, and asks for again. */
async function revive(
  context: Context,
  machine: Machine,
  holder: MachineRow,
  { specSha256, said }: Pick<NewMachine, "specSha256"> & { readonly said: MachineOrder },
): Promise<Outcome<Created>> {
  const { store, now } = context;
  const orphan = orphanOf(machine, holder, { ...context, credential: await context.credential(), now: now() });
  await store.inventory.reviveRows([orphan], now());
  const [recorded] = await store.machines.observe([{ uid: holder.uid, machine }], now());
  if (!recorded) return refused(RELEASING);
  return recorded.specSha256 === specSha256
    ? known(recorded)
    : refused(specMismatch(recorded.name, await differingFields(recorded, said)));
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
