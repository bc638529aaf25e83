import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { withPrefix } from "../../auth/owner-key.ts";
import type { Asks } from "../../store/read-ahead.ts";
import type { Whose } from "../../store/whose.ts";
import type { AppEnv, Reads } from "./app-env.ts";
import { takeBody } from "./body.ts";

/** For whom a call reads. */
export interface Reader {
  readonly whose: Whose;
  /** Whose things a list shows; null = everybody's. */
  readonly listed: Whose | null;
}

/** What a call reads first; null where it will be refused, or tells nothing of it. `ref` is what its path names. */
type Telling = (c: Context<AppEnv>, ref: string) => Told | Promise<Told>;
type Told = ((reads: Reads, reader: Reader) => readonly Promise<unknown>[]) | null;

/**
 * Leaves word of what a call is about to read, for whoever finds out whose it is: both then come in one trip (docs/decisions/trips.md).
 * A body is taken in before that trip, so that no caller is answered with what was so when it began to send.
 */
export const readAhead = (tell: Telling) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const ref = c.req.param("ref") ?? "";
    c.set("ahead", async (seesAll) => {
      if (!(await isAllHere(c))) return null;
      const asks = await tell(c, ref);
      const owner = seesAll ? c.req.query("owner") : undefined;
      const named = owner === undefined ? undefined : withPrefix(owner);
      return asks && asAsked(asks, named, seesAll);
    });
    await next();
  });

/** Whether all of a call has come, and no more of it than may. If not, whoever needs its body is told why. */
const isAllHere = (c: Context<AppEnv, string>): Promise<boolean> =>
  takeBody(c).then(
    () => true,
    () => false,
  );

/** As `actor` and `listedOwner` have it: whoever sees all may name an owner, and then sees what that one does. */
const asAsked =
  (asks: NonNullable<Told>, named: string | undefined, seesAll: boolean): Asks<Reads> =>
  (reads, whose) =>
    asks(reads, { whose: named ?? whose, listed: named ?? (seesAll ? null : whose) });
