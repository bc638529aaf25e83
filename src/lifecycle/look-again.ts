import { getIfThere } from "../driver/driver.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { isOurs, isSame } from "../machine/ownership.ts";
import { hasNews } from "../machine/sighting.ts";
import type { RequestContext } from "./context.ts";
import { doubtOf } from "./credential.ts";
import type { Look, Observed } from "./looks.ts";
import { onDriverError } from "./refusal.ts";
import { whenFull } from "./when-full.ts";

/** What was seen longer ago is looked at again before it is told. */
const FRESH_MS = 30_000;
/** The same while it is being created; one look serves everybody who waits. */
export const FRESH_WHILE_CREATING_MS = 3000;

/** A machine as it is told: its row, and what the last look showed. */
export interface Looked {
  readonly row: MachineRow;
  /** Null where its row is all that is known. */
  readonly observed: Observed | null;
}

type Noting = Pick<RequestContext, "store" | "credential" | "rules" | "now" | "looks">;
type Looking = Noting & Pick<RequestContext, "driver" | "capabilities" | "mayLook">;

/**
 * Looks at a machine again by its id, if it was last seen more than 30 s ago, or 3 s while it is being created. A look writes what has
 * changed, and nothing else: when it was made is remembered by the isolate. That the provider does not show it is told at once, and
 * changes nothing: one look proves no absence, and a sweep decides (I4). Without room in the account's rate or the provider's, and where
 * the provider does not answer, the machine is as it was last seen.
 */
export async function lookAgain(context: Looking, row: MachineRow): Promise<Looked> {
  const { driver, capabilities, looks, now } = context;
  const { uid, providerId } = row;
  if (row.phase !== "active" || providerId === null) return { row, observed: null };
  const last = looks.last(uid);
  if (isFresh(row, last, now())) return toldOf(row, last);
  if (capabilities.hasHeadroom?.() === false || !(await context.mayLook())) return toldOf(row, last);
  // Before it is asked, so that whoever comes meanwhile does not ask as well, nor wait for a provider that hangs.
  looks.note(uid, { askedAt: now(), told: last?.told ?? null });
  return onDriverError(
    async () => noteLook(context, row, await getIfThere(driver, providerId)),
    () => toldOf(row, last),
  );
}

/** Remembers what a look at a row's id has just shown, null for nothing, and writes down what is new. */
export async function noteLook(context: Noting, row: MachineRow, machine: Machine | null): Promise<Looked> {
  const { store, rules, looks, now } = context;
  const at = now();
  // Under another credential than it was made with, that may be another project, which tells nothing of it.
  const isElsewhere = machine === null && (await doubtOf(context, row)) !== null;
  const observed = observedIn(row, machine, rules.installations);
  const look = { askedAt: at, told: isElsewhere ? null : { at, observed } };
  looks.note(row.uid, look);
  if (machine === null || observed !== "seen" || !hasNews(row, machine)) return toldOf(row, look);
  const [seen = row] = await whenFull<readonly MachineRow[]>(
    () => store.machines.observe([{ uid: row.uid, machine }], at),
    () => [],
  );
  return toldOf(seen, look);
}

function observedIn(row: MachineRow, machine: Machine | null, installations: readonly string[]): Observed {
  if (machine === null) return "not_found";
  // What cannot be read says nothing against it.
  return !machine.hasLabels || (isSame(row, machine) && isOurs(machine, installations)) ? "seen" : "identity_mismatch";
}

function isFresh({ status, observedAt }: MachineRow, last: Look | null, now: number): boolean {
  const most = status === "creating" ? FRESH_WHILE_CREATING_MS : FRESH_MS;
  // A time ahead is a clock's mistake.
  return [observedAt, last?.askedAt ?? null].some((at) => at !== null && now >= at && now - at <= most);
}

/** Of the row and the last look whichever is younger. */
function toldOf(row: MachineRow, last: Look | null): Looked {
  const told = last?.told ?? null;
  if (told === null || told.at < (row.observedAt ?? 0)) return { row, observed: null };
  return { row: told.observed === "seen" ? { ...row, observedAt: told.at } : row, observed: told.observed };
}
