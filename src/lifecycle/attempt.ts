import { DriverError, invalidInput, type ProviderLimit } from "../driver/driver.ts";
import type { Attachment } from "../machine/attachment.ts";
import { ourSelector } from "../machine/ownership.ts";
import { LABEL, ourLabels } from "../machine/labels.ts";
import type { Candidate, MachineRequest, MachineSpec } from "../machine/spec.ts";
import type { Problem } from "../machine/validation.ts";
import type { Chosen, NewMachine } from "../store/machines.ts";
import { attach, toConfirm, type AttachedIds } from "./attachments.ts";
import {
  COOL_DOWN_MS,
  isSamePair,
  MOST_TRIED,
  notTried,
  triedCandidate,
  type Candidates,
  type InOrder,
} from "./candidates.ts";
import type { Context, RequestContext } from "./context.ts";
import { endMadeWith } from "./end-made-with.ts";
import { giveUp, hinted, isDefinite } from "./give-up.ts";
import { tryWithRoom } from "./make-room.ts";
import { noneHadIt } from "./none-had-it.ts";
import type { CompleteOrder, MachineOrder } from "./order.ts";
import { heldByOurs, record, RELEASED, type Created } from "./record.ts";
import { onDriverError, refusalOf, refused, type Outcome, type TriedCandidate } from "./refusal.ts";
import { timeOfTries, type TimeOfTries } from "./time-of-tries.ts";
import { reclaim, trying, type Claim } from "./trying.ts";

/** What a machine is to be, and where it is tried. */
export interface Wanted extends InOrder {
  /** As its caller said it. */
  readonly said: MachineOrder;
  readonly request: MachineRequest;
  readonly attachments: readonly Attachment[];
  /** What became of them when they were noted with the row; null where they are still to be seen to. */
  readonly attached: Outcome<AttachedIds> | null;
  readonly order: CompleteOrder;
  readonly candidates: Candidates;
}

/** One call's tries to make a row's machine. */
interface Tries extends Wanted {
  readonly row: NewMachine;
  readonly ids: AttachedIds;
  readonly claim: Claim;
  readonly time: TimeOfTries;
  /** Those that had no room so far, or were refused for good. */
  readonly tried: TriedCandidate[];
  /** The provider's limits that they met. */
  readonly limits: ProviderLimit[];
  /** What would have to be another where they were refused for good. */
  readonly problems: Problem[];
  /** What a selector of images means for a server type. */
  readonly snapshots: Map<string, string>;
}

/**
 * Tries to make a row's machine under a claim that is held: each candidate once, in order and while there is time, and only a definite
 * refusal for shortage, or because the pair is not sold, moves on to the next. Where an earlier try may have had an effect that nobody saw,
 * no refusal of this one proves that there is none.
 */
export async function attempt(
  context: RequestContext,
  row: NewMachine,
  wanted: Wanted,
  claim: Claim,
): Promise<Outcome<Created>> {
  const outcome = await tryAll(context, row, wanted, claim);
  // What was made for a machine that never came, or turned out to be another's, would only litter the project.
  if (!outcome.ok || outcome.value.row.uid !== row.uid) await endMadeWith(context, row, wanted.attachments);
  return outcome;
}

async function tryAll(
  context: RequestContext,
  row: NewMachine,
  wanted: Wanted,
  claim: Claim,
): Promise<Outcome<Created>> {
  const attached = wanted.attached ?? (await attach(context, row, wanted.attachments, claim));
  if (!attached.ok) {
    await giveUp(context, { row, claim }, attached.refusal, !claim.resumed);
    return attached;
  }
  const elsewhere = await madeBefore(context, { row, claim, said: wanted.said });
  if (elsewhere) return elsewhere;
  const time = timeOfTries(context);
  const met = { tried: [], limits: [], problems: [], snapshots: new Map() };
  const tries: Tries = { ...wanted, ...met, row, ids: attached.value, claim, time };
  for (const candidate of wanted.inOrder.slice(0, MOST_TRIED)) {
    if (!time.isEnough()) break;
    const outcome = await tryWithRoom(
      context,
      tries,
      () => tryOne(context, tries, candidate),
      (error) => failed(context, tries, candidate, error),
    );
    if (outcome !== "no_room") return outcome;
  }
  const refusal = await noneHadIt(context, {
    ...tries,
    isResumed: claim.resumed,
    hadTime: time.isEnough(),
  });
  await giveUp(context, tries, refusal, !claim.resumed);
  return refused(refusal);
}

async function tryOne(context: Context, tries: Tries, candidate: Candidate): Promise<Outcome<Created>> {
  const { store, driver, now } = context;
  const { row, ids, request, tried } = tries;
  const image = await imageOf(context, tries, candidate);
  // The row owns each further try anew, and shows what is being tried.
  const { credential, labels, keepOnFailureMs } = row;
  const chosen = { ...candidate, image, attachments: toConfirm(ids), credential, labels, keepOnFailureMs };
  const isOurs =
    isWritten(context, tries, chosen) ||
    (await store.machines.choose(row.uid, chosen, now(), reclaim(tries.claim, now())));
  if (!isOurs) return refused(RELEASED);
  if (!tries.time.isEnough())
    throw new DriverError("timeout", "there was no time left to ask the provider for it", { retryable: true });
  const spec = specOf(row, { ...request, ...candidate, image }, ids);
  const machine = await driver.create(spec, { withinMs: tries.time.leftMs() });
  const begun = [...tried, triedCandidate(candidate, "chosen")];
  const { cooling } = tries;
  const candidates = [...begun, ...notTried(tries.candidates, begun, { cooling, now: now(), why: null })];
  const written = { ...row, attachments: chosen.attachments };
  return record(context, written, machine, { isNew: !tries.claim.resumed, candidates });
}

/** So young a claim is as good as one that begins now. */
const YOUNG_MS = 1000;

/**
 * Whether a row says already what is tried: it was written for that a moment ago, and nobody has been asked anything since who could
 * have taken a while.
 */
function isWritten({ rules, now }: Context, { row, attached, claim, tried }: Tries, chosen: Chosen): boolean {
  const isFirst = !claim.resumed && claim.untils.length === 1 && tried.length === 0;
  const isYoung = attached !== null && rules.installations.length === 1 && now() - row.requestedAt < YOUNG_MS;
  const isSame = isSamePair(row, chosen) && row.image === chosen.image;
  return isFirst && isYoung && isSame && JSON.stringify(row.attachments) === JSON.stringify(chosen.attachments);
}

async function failed(
  context: Context,
  { row, said, attachments, claim, tried, limits, problems }: Tries,
  candidate: Candidate,
  error: DriverError,
): Promise<Outcome<Created> | "no_room"> {
  const { store, now } = context;
  if (error.code === "capacity" && !error.ambiguous) {
    tried.push(triedCandidate(candidate, error.isForGood ? "refused" : "capacity", error.message));
    if (error.isForGood && error.problem) problems.push(error.problem);
    if (error.limit) limits.push(error.limit);
    await store.cooldowns.add(row.provider, candidate, now() + COOL_DOWN_MS);
    return "no_room";
  }
  const held = error.existing && (await heldByOurs(context, error.existing, row, said));
  if (held) return held;
  const refusal = attachments.length > 0 ? hinted(refusalOf(error)) : refusalOf(error);
  const isCertain = isDefinite(error, claim.resumed);
  await giveUp(context, { row, claim }, refusal, isCertain);
  return refused(isCertain ? { ...refusal, madeNothing: true } : refusal);
}

/**
 * Under an installation that this one took over the same owner and name have another name at the provider, which so cannot refuse a
 * second machine: it is looked for (I3). Null where there is none.
 */
async function madeBefore(
  context: Context,
  { row, claim, said }: Pick<Tries, "row" | "claim" | "said">,
): Promise<Outcome<Created> | null> {
  const [, ...previous] = context.rules.installations;
  if (previous.length === 0) return null;
  const selector = ourSelector(previous, { [LABEL.owner]: row.owner, [LABEL.name]: row.name });
  const search = async (): Promise<Outcome<Created> | null> => {
    for (const machine of await context.driver.list(selector, { maxPages: 1 })) {
      const held = await heldByOurs(context, machine, row, said);
      if (held) return held;
    }
    return null;
  };
  return onDriverError(search, async (error) => {
    await giveUp(context, { row, claim }, refusalOf(error), false);
    return refused(refusalOf(error));
  });
}

/** Makes a try for a row's machine under a claim, which is given back where the try ends before it is over. */
export const tryingMachine = <T>(
  { store, now }: Context,
  uid: string,
  claim: Claim,
  act: () => Promise<T>,
): Promise<T> => trying(claim, now, (error) => store.work.giveBackTry(uid, claim.untils, error, now()), act);

/** The image by name or id: of a selector the newest snapshot that the candidate can boot, asked for once a server type. */
async function imageOf(
  { capabilities }: Context,
  { request: { image, isImageSelector }, snapshots }: Tries,
  { serverType }: Candidate,
): Promise<string> {
  if (!isImageSelector) return image;
  const found = snapshots.get(serverType) ?? (await capabilities.findSnapshot?.(image, serverType));
  if (found !== undefined) {
    snapshots.set(serverType, found);
    return found;
  }
  throw invalidInput({ field: "image", rule: "must be a name or an id: this provider has no snapshots" });
}

const specOf = (row: NewMachine, request: MachineRequest & Candidate, ids: AttachedIds): MachineSpec => ({
  ...request,
  ...ids,
  name: row.providerName,
  labels: { ...request.labels, ...ourLabels(row) },
});
