import type { DriverError, ProviderLimit } from "../driver/driver.ts";
import { isLive } from "../machine/machine.ts";
import type { NewMachine } from "../store/machines.ts";
import type { Context, RequestContext } from "./context.ts";
import { known, RELEASED, type Created } from "./record.ts";
import { onDriverError, refused, type Outcome } from "./refusal.ts";
import { LEAST_TRY_MS, type TimeOfTries } from "./time-of-tries.ts";
import { reclaim, type Claim } from "./trying.ts";

/** One more try, and what is written of it. */
const RETRY = { fetches: 3, statements: 10 };
/** The least that a pass takes, and the claim's being lengthened before it and after it. */
const PASS = { fetches: 3, statements: 16 };
/** So long a machine that was just deleted may still count. Shorter than a claim. */
const COUNTED_MS = 10_000;

/** What is being tried: a row's machine, under a claim. */
interface Try {
  readonly row: NewMachine;
  readonly claim: Claim;
  readonly time: TimeOfTries;
  /** Limits that candidates before it met: room was made for the first of them. */
  readonly limits: readonly ProviderLimit[];
}

/**
 * Tries a candidate. Where the provider says that a limit of its is reached, what is past its end may be what fills it: that is destroyed,
 * once a call, and the candidate is tried once more (docs/decisions/provider-limits.md). `failed` is what a failure comes to.
 */
export const tryWithRoom = <Failure>(
  context: RequestContext,
  one: Try,
  act: () => Promise<Outcome<Created>>,
  failed: (error: DriverError) => Promise<Outcome<Created> | Failure>,
): Promise<Outcome<Created> | Failure> =>
  onDriverError(act, async (error) => {
    if (one.limits.length > 0 || !mayMakeRoom(context, one, error)) return failed(error);
    const room = await makeRoom(context, one, error);
    if (room === "lost") return whoseItIsNow(context, one);
    return room === "made" ? onDriverError(act, failed) : failed(error);
  });

/** How long there is to wait, with one more try behind it; below zero there is no time for that. */
const waitOf = (time: TimeOfTries): number => Math.min(COUNTED_MS, time.leftMs() - LEAST_TRY_MS);

/** Below the provider's reserve the second try would not go out. */
const hasHeadroom = ({ capabilities }: Context): boolean => capabilities.hasHeadroom?.() !== false;

/** Whether it was a limit, and there is what it takes to do something about it: time, and what the invocation may spend. */
function mayMakeRoom(context: RequestContext, { time }: Try, { code, ambiguous, limit }: DriverError): boolean {
  if (waitOf(time) < COUNTED_MS) return false;
  const isLimit = !ambiguous && (code === "quota" || limit !== undefined);
  const cost = { fetches: PASS.fetches + RETRY.fetches, statements: PASS.statements + RETRY.statements };
  return isLimit && hasHeadroom(context) && context.affords(cost);
}

/** `none`: there is none, and the row is still this call's. `lost`: it is no longer, so that nothing may be concluded for it. */
async function makeRoom(context: RequestContext, one: Try, error: DriverError): Promise<"made" | "none" | "lost"> {
  const before = await keepClaim(context, one);
  if (before !== "kept") return before === "lost" ? "lost" : "none";
  const passed = await context.expirePass(RETRY);
  // Though nothing was due: of some limits the driver knows that they may have room in a moment.
  const waitMs = waitOf(one.time);
  const mayFit = waitMs >= 0 && (passed === "ended" || (passed === "nothing" && error.retryable));
  if (mayFit) await context.sleep(waitMs);
  const after = await keepClaim(context, one);
  if (after === "lost") return "lost";
  return after === "kept" && mayFit && hasHeadroom(context) ? "made" : "none";
}

const keepClaim = ({ store, now }: Context, { row, claim }: Try) => {
  const held = [...claim.untils];
  return store.work.keepTry(row.uid, held, reclaim(claim, now()), claim.tokenId);
};

/** The pass took longer than the claim, and another call tries by now; or the owner's word came. */
async function whoseItIsNow({ store }: Context, { row }: Try): Promise<Outcome<Created>> {
  const current = await store.machines.byUid(row.uid);
  return current !== null && isLive(current) && current.phase !== "destroying" ? known(current) : refused(RELEASED);
}
