import type { Priced } from "../machine/money.ts";
import { FREE, revoked } from "./conditions.ts";
import { beyondByPrice, monthsParam, type Limits } from "./machine-limits.ts";
import { rateColumns } from "./machine-row.ts";
import { intOf } from "./columns.ts";
import { parseFirst } from "./rows.ts";
import { change } from "./statements.ts";
import type { Db } from "./writer.ts";

/** How a create is to be tried again. */
export interface NextTry {
  readonly now: number;
  /** For how long nobody else may. */
  readonly until: number;
  readonly tokenId: string | null;
  readonly priced: Priced;
  readonly limits: Pick<Limits, "months" | "microEurPerHour">;
}

/** Who may try to make the machine of a row, and until when. */
export function createMachineTries(db: Db) {
  return {
    /**
     * Takes the one right to try the create of a row whose last try ended or was given up, at prices as they are now. Guarded by the
     * minted token that asks for it, where one does, not having been revoked since it was looked at, and by no limit being passed
     * where it costs more than it did.
     */
    async claimTry(uid: string, { now, until, tokenId, priced, limits }: NextTry): Promise<boolean> {
      const rates = Object.entries({ ...rateColumns(priced), has_ipv4: Number(priced.hasIpv4) });
      const beyond = beyondByPrice(
        rates.map((_, index) => `?${index + 7}`),
        { months: "?5", perHour: "?6" },
      );
      const claimed = await db.write(
        change(
          {
            head: `UPDATE machines SET next_try_at = ?2, tried_at = ?1, missing_since = NULL,
              ${rates.map(([column], index) => `${column} = ?${index + 7}`).join(", ")}`,
            where: `uid = ?3 AND phase = 'requested' AND ${FREE} AND NOT EXISTS (${revoked("?4")}) AND NOT EXISTS (${beyond})`,
            tail: "RETURNING uid",
          },
          now,
          until,
          uid,
          tokenId,
          monthsParam(limits.months),
          limits.microEurPerHour,
          ...rates.map(([, value]) => value),
        ),
      );
      return claimed.length > 0;
    },

    /**
     * A try to create is over, and nobody knows what came of it: the next call may go on at once. Guarded by `requested`, and by
     * the claim being one of these still, so that the claim of a later try stays.
     */
    async giveBackTry(uid: string, untils: readonly number[], error: string, now: number): Promise<void> {
      const given = change(
        {
          head: "UPDATE machines SET last_error = ?2, next_try_at = ?3",
          where: "uid = ?1 AND phase = 'requested' AND next_try_at IN (SELECT value FROM json_each(?4))",
        },
        uid,
        error,
        now,
        JSON.stringify(untils),
      );
      await db.write(given);
    },

    /**
     * Lengthens the claim of a try that goes on. Guarded by `requested`, and by the claim being one of these still. `revoked`: it is, and
     * nothing more may be begun with the minted token that asks for it. `lost`: somebody else has the row now, or it has ended.
     */
    async keepTry(
      uid: string,
      untils: readonly number[],
      until: number,
      tokenId: string | null,
    ): Promise<"kept" | "revoked" | "lost"> {
      const rows = await db.write(
        change(
          {
            head: "UPDATE machines SET next_try_at = ?2",
            where: "uid = ?1 AND phase = 'requested' AND next_try_at IN (SELECT value FROM json_each(?3))",
            tail: `RETURNING EXISTS (${revoked("?4")}) AS is_revoked`,
          },
          uid,
          until,
          JSON.stringify(untils),
          tokenId,
        ),
      );
      const kept = parseFirst((row) => intOf(row, "is_revoked"), rows);
      if (kept === null) return "lost";
      return kept === 1 ? "revoked" : "kept";
    },
  };
}
