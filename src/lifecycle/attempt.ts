import { DriverError, invalidInput, type DriverErrorCode } from "../driver/driver.ts";
import { ourSelector } from "../machine/ownership.ts";
import { LABEL, ourLabels } from "../machine/labels.ts";
import type { Attachments } from "../machine/machine.ts";
import type { Candidate, MachineRequest, MachineSpec } from "../machine/spec.ts";
import type { NewMachine } from "../store/machines.ts";
import { attach, type AttachedIds } from "./attachments.ts";
import { coolLast, COOL_DOWN_MS, isSamePair, MOST_TRIED, outcomeOf } from "./candidates.ts";
import type { CreateCommand } from "./create.ts";
import { refusalOf, type Refusal, type TriedCandidate } from "./refusal.ts";
import type { Context } from "./context.ts";
import { heldByOurs, record, refused, RELEASED, type CreateResult } from "./record.ts";
import type { ResourceDeps } from "./resources.ts";
import { TRY_MS } from "./terms.ts";

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
  const elsewhere = await madeBefore(deps, row);
  if (elsewhere) return elsewhere;
  const snapshots = new Map<string, string>();
  for (const candidate of (await coolLast(deps, candidates)).slice(0, MOST_TRIED)) {
    try {
      const image = await imageOf(deps, request, candidate, snapshots);
      // The row owns each further try anew, and shows what is being tried.
      const chosen = { ...candidate, image, attachments: toConfirm(attached.ids), credential: row.credential };
      if (!(await store.machines.choose(row.uid, chosen, now(), now() + TRY_MS))) return refused(RELEASED);
      const machine = await driver.create(specOf(row, { ...request, ...candidate, image }, attached.ids));
      const isOpen = (one: Candidate) => ![candidate, ...tried].some((other) => isSamePair(other, one));
      const told = [
        ...tried,
        outcomeOf(candidate, "chosen"),
        ...candidates.filter(isOpen).map((one) => outcomeOf(one, "not_tried")),
      ];
      return await record(deps, { ...row, attachments: chosen.attachments }, machine, !resumed, told);
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

/**
 * Under an installation that this one took over the same owner and name have another name at the provider, which so cannot refuse a
 * second machine: it is looked for (I3). Null where there is none.
 */
async function madeBefore(deps: ResourceDeps, row: NewMachine): Promise<CreateResult | null> {
  const [, ...previous] = deps.rules.installations;
  if (previous.length === 0) return null;
  try {
    const machines = await deps.driver.list(
      ourSelector(previous, { [LABEL.owner]: row.owner, [LABEL.name]: row.name }),
    );
    for (const machine of machines) {
      const held = await heldByOurs(deps, machine, row);
      if (held) return held;
    }
    return null;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    await giveUp(deps, row, refusalOf(error), false);
    return refused(refusalOf(error));
  }
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
async function giveUp({ store, now }: Context, row: NewMachine, refusal: Refusal, isCertain: boolean): Promise<void> {
  if (isCertain) await store.endings.fail([{ uid: row.uid, reason: refusal.code }], now());
  else await store.work.giveBack(row.uid, refusal.message, now());
}

/** What the machine is to be seen with once it runs; a key cannot be seen. */
const toConfirm = ({ firewallIds, networkIds }: AttachedIds): Attachments | null =>
  firewallIds.length + networkIds.length === 0 ? null : { firewallIds, networkIds };

/** The image by name or id: of a selector the newest snapshot that the candidate can boot, asked for once a server type. */
async function imageOf(
  { capabilities }: Context,
  { image, isImageSelector }: MachineRequest,
  { serverType }: Candidate,
  known: Map<string, string>,
): Promise<string> {
  if (!isImageSelector) return image;
  const found = known.get(serverType) ?? (await capabilities.findSnapshot?.(image, serverType));
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

const specOf = (row: NewMachine, request: MachineRequest & Candidate, ids: AttachedIds): MachineSpec => ({
  ...request,
  ...ids,
  name: row.providerName,
  labels: { ...request.labels, ...ourLabels(row) },
});
