/** What owners go by once D1 is another, or a person has written on a label: what was told then counts no more. */
import type { ServerState } from "../../simulator/simulator.ts";
import { strike, type Books } from "./books.ts";
import type { Database } from "../world/database.ts";
import { liveRows } from "./overstay.ts";
import type { Edit } from "../world/people.ts";
import type { Clock } from "../world/provider.ts";
import { labelEnd, uidOf } from "../world/truth.ts";

export function openRetelling(books: Books, clock: Clock, database: Database, ourServers: () => ServerState[]) {
  /** What only a row knew is not known any more, and what is told from now on is what the labels tell. */
  function forget(): void {
    for (const server of ourServers()) {
      const uid = uidOf(server);
      books.told.set(uid, Math.min(books.told.get(uid) ?? Infinity, labelEnd(server)));
    }
    // Of what is still to land the row alone knew a renewal.
    const there = new Set(ourServers().map(uidOf));
    for (const uid of books.told.keys()) if (!there.has(uid)) books.told.delete(uid);
    books.lengthened.clear();
    strike(books, "d1_changed", clock.now);
  }

  /** A later end, written by hand, counts while the row has nothing to write there itself; a sooner one is outvoted by the row. */
  async function noteEdit(edited: ServerState, what: Edit): Promise<void> {
    const uid = uidOf(edited);
    const row = (await liveRows(database)).get(uid);
    const isOpen = row !== undefined && row.expires_at > clock.now && row.label_expires_at === row.expires_at;
    const after = ourServers().find(({ id }) => id === edited.id);
    // Without a row the label is all that is known, whoever wrote it.
    if (row === undefined && after) books.told.set(uid, Math.min(books.told.get(uid) ?? Infinity, labelEnd(after)));
    if (what === "sooner") books.lengthened.delete(uid);
    else if (what === "later" && after && isOpen) books.lengthened.set(uid, labelEnd(after));
  }

  return { forget, noteEdit };
}
