/** I5: within two passes of the inventory, in which nothing goes wrong, each live machine has a row of its owner, its name and its lease. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Books } from "./books.ts";
import type { Leases } from "./leases.ts";
import { endsAt, mayEndAt } from "./life.ts";
import type { LiveRow } from "./rows.ts";
import type { Quality } from "./late.ts";
import { MINUTE } from "../world/settings.ts";
import { uidOf } from "../world/truth.ts";

/** So long a machine is young, a pass is every quarter of an hour, and the one after it looks again. */
export const PASSES_MS = 31 * MINUTE;
/** Ticks further apart than that leave room for none in between. */
const GAP_MS = 2 * MINUTE;

export function createOwned(books: Books, leases: Leases, isHiding: (id: number) => boolean) {
  /** Since when nothing went wrong about it. */
  const calmSince = new Map<number, number>();
  let lastAt = 0;

  return function afterTick(
    servers: readonly ServerState[],
    rows: ReadonlyMap<string, LiveRow>,
    now: number,
    quality: Quality,
  ): void {
    const isGap = now - lastAt > GAP_MS || now < lastAt;
    lastAt = now;
    for (const server of servers) {
      const { id } = server;
      const life = leases.of(uidOf(server));
      if (quality !== "good" || isGap || books.hit.has(id) || isHiding(id)) calmSince.delete(id);
      const since = Math.max(calmSince.get(id) ?? now, life?.doubtedAt ?? 0, books.born.get(id) ?? 0);
      calmSince.set(id, since);
      if (now < since + PASSES_MS) continue;
      const row = rows.get(uidOf(server));
      if (row === undefined) books.broken.push(`I5: server ${id} of ours has no row after half an hour`);
      else if (life !== undefined) {
        const isNamed =
          row.owner === life.owner && (row.name === life.name || (row.name === row.uid && leases.mayBeTaken(life)));
        if (!isNamed) books.broken.push(`I5: the row of server ${id} is ${row.owner}/${row.name}`);
        // What is being destroyed has no lease any more.
        if (row.phase === "destroying" || life.word !== null) continue;
        if (!mayEndAt(life, row.expires_at, { orEver: life.doubtedAt !== null, grain: 0 }))
          books.broken.push(
            `I5: the row of server ${id} ends at ${new Date(row.expires_at).toISOString()}, which nobody asked for`,
          );
        else endsAt(life, row.expires_at);
      }
    }
  };
}
