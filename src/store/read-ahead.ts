import { parseFirst } from "./rows.ts";
import type { Query } from "./statements.ts";
import { heldToken, type HeldToken } from "./tokens.ts";
import { ofHolder, onlyFor, type Holder, type Whose } from "./whose.ts";
import type { Db } from "./writer.ts";

/** Asks for what a call is about to read. Only the first that each of these reads is known by then, so only that is read ahead. */
export type Asks<Reads> = (reads: Reads, whose: Whose) => readonly Promise<unknown>[];

/**
 * How what a call is about to read comes in one trip, before it is asked for: which queries that will be is found out by asking a
 * database that only writes them down. Whoever asks one of them then is answered from here, once, and as long as nothing has been
 * written (docs/decisions/trips.md).
 */
export function createReadAhead<Reads>(db: Db, open: (recorded: Db) => Reads) {
  function queriesOf(asks: Asks<Reads>, whose: Whose): readonly Query[] {
    const asked: Query[] = [];
    const nothing = async () => [];
    const recorded: Db = {
      ...db,
      read: async (query) => {
        asked.push(query);
        return [];
      },
      batch: async (parts) => {
        for (const part of parts) if (part.kind === "query") asked.push(part);
        return parts.map(() => []);
      },
      write: nothing,
      claim: nothing,
    };
    // What they make of no answer at all is nobody's concern.
    void Promise.allSettled(asks(open(recorded), whose));
    return asked;
  }

  return {
    /** The token that somebody holds, and if it may be used now, in the same trip what its owner is about to read. Null where there is none. */
    async ofHolder(holder: Holder, asks: Asks<Reads>): Promise<HeldToken | null> {
      // What is about no owner would be read for anybody.
      const sent = queriesOf(asks, holder).map((one) =>
        one.params.includes(holder.secretSha256) ? one : onlyFor(holder, one),
      );
      const [rows = [], ...answers] = await db.batch([ofHolder(holder), ...sent]);
      const held = parseFirst(heldToken, rows);
      if (held?.isUsable === true) keepAll(queriesOf(asks, held.token.owner), answers);
      return held;
    },

    /** Reads in one trip what an owner is about to read. */
    async ofOwner(owner: string, asks: Asks<Reads>): Promise<void> {
      const asked = queriesOf(asks, owner);
      // One alone is read when it is asked for.
      if (asked.length > 1) keepAll(asked, await db.batch(asked));
    },
  };

  function keepAll(asked: readonly Query[], answers: readonly (readonly unknown[])[]): void {
    for (const [index, one] of asked.entries()) db.keep(one, answers[index] ?? []);
  }
}
