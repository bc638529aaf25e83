/** What tries to make something at the provider have in common. */
import type { DriverError, DriverErrorCode } from "../driver/driver.ts";
import { StoreError } from "../store/db.ts";

/** One try owns a row for this long: the create call's own time-out and what it takes to record the outcome. */
export const TRY_MS = 30_000;

/** `unexpected` is a word that we do not know, or a look that told nothing: the driver says by itself where an effect is possible. */
const NOTHING_MADE: ReadonlySet<DriverErrorCode> = new Set([
  "invalid_input",
  "unauthorized",
  "quota",
  "rate_limited",
  "unexpected",
]);

/** Whether a refusal says that nothing was made. Everything else may have had an effect that nobody saw. */
export const saysNothingMade = ({ code, ambiguous }: DriverError): boolean => !ambiguous && NOTHING_MADE.has(code);

/** One call's right to try. */
export interface Claim {
  /** An earlier call's try may have had an effect that nobody saw. */
  readonly resumed: boolean;
  /** Until when it was claimed, each time that it was; unix milliseconds. A row that says any of these is this call's. */
  readonly untils: number[];
  /** The minted token that it is made with, null where it is none: revoked meanwhile, nothing more is begun with it. */
  readonly tokenId: string | null;
}

/** A claim that begins at `now`, to be written down by whoever asks for it. */
export const claimAt = (now: number, resumed: boolean, tokenId: string | null): Claim => ({
  resumed,
  untils: [now + TRY_MS],
  tokenId,
});

/** Lengthens a claim; answers until when. */
export function reclaim({ untils }: Claim, now: number): number {
  untils.push(now + TRY_MS);
  return now + TRY_MS;
}

/** The database failed in the middle of a try, and the try's claim could not be given back either. */
export class ClaimLeft extends StoreError {
  /** Whole seconds for which nobody can go on. */
  readonly seconds: number;

  constructor(cause: StoreError, leftMs: number) {
    super(cause.message, { cause });
    this.seconds = Math.ceil(leftMs / 1000);
  }
}

/**
 * Makes a try under a claim. A failure that nobody handles ends the try, whatever the database did of it: the claim is given back,
 * so that the next call goes on at once. Where that fails too, {@link ClaimLeft} says how long the claim holds.
 */
export async function trying<T>(
  claim: Claim,
  now: () => number,
  giveBack: (error: string) => Promise<void>,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    try {
      await giveBack(error instanceof StoreError ? error.hint : "the try ended before it was over");
    } catch (again) {
      const leftMs = Math.max(...claim.untils) - now();
      if (again instanceof StoreError && leftMs > 0) throw new ClaimLeft(again, leftMs);
    }
    throw error;
  }
}

/** A day is longer than any claim: as the store has it, a later mark is a clock's mistake. */
const LONGEST_MS = 86_400_000;

/** For how long somebody may still be trying, in milliseconds; 0 once nobody is. */
export function claimLeftMs({ nextTryAt }: { readonly nextTryAt: number | null }, now: number): number {
  const left = (nextTryAt ?? 0) - now;
  return left > LONGEST_MS ? 0 : Math.max(0, left);
}
