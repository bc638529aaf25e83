/** I1 and I8: how many good ticks each machine of ours lives on past its end, which is to be few, whatever befell others. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Rules } from "../kinds/kind.ts";
import type { Books } from "./books.ts";
import type { Leases } from "./leases.ts";
import { GRAIN_MS, mostOf } from "./life.ts";
import { meet } from "../tally.ts";
import { HOUR, MINUTE } from "../world/settings.ts";
import { createdAt, isProtected, labelEnd, uidOf } from "../world/truth.ts";

/**
 * How a tick went: `good`, D1 and provider answered all of it; `apart`, but for what no machine's end waits for; `blind`, the provider did and D1 nothing at all; `bad`, anything
 * else, of which nothing is promised.
 */
export type Quality = "good" | "apart" | "blind" | "bad";

/** What a failed try has left alone for how long: a minute and a half, doubled by each further one, a quarter of an hour at most. */
const BACK_OFF_MS = 90_000;
const LONGEST_MS = 15 * MINUTE;
const backOff = (failures: number): number => Math.min(BACK_OFF_MS * 2 ** (failures - 1), LONGEST_MS);
/** The tick in which it is tried, and the one that proves it. */
const SLACK_MS = 2 * MINUTE;
/** Within so many ticks what has died is proven. */
const PROVEN_TICKS = 10;
/** Until the inventory has come by twice. */
const TWO_PASSES_MS = 31 * MINUTE;

/** What has befallen a machine since its end. */
interface Trouble {
  failures: number;
  failedAt: number;
  by: string;
}

/** From when on a machine has no right to live, by what was asked for; without any word of it by its age and label. */
export function dueAt(server: ServerState, leases: Leases, { maxAge }: Pick<Rules, "maxAge">): number {
  const life = leases.of(uidOf(server));
  if (life === undefined) return Math.max(createdAt(server) + maxAge + 1, labelEnd(server));
  if (life.word?.isSure) return life.word.at;
  return mostOf(life) + GRAIN_MS;
}

/** While no row can be asked: an hour past what its label tells, or past its greatest age. */
const dueBlindly = (server: ServerState, { maxAge }: Pick<Rules, "maxAge">): number =>
  Math.min(labelEnd(server) + HOUR + GRAIN_MS, Math.max(createdAt(server) + maxAge + 1, labelEnd(server)));

interface Judged {
  readonly books: Books;
  readonly leases: Leases;
  readonly rules: Rules;
}

export function createLate({ books, leases, rules }: Judged) {
  const ticksPast = new Map<number, number>();
  const troubles = new Map<number, Trouble>();
  /** How often a fault had met it, when that was last looked at. */
  const met = new Map<number, number>();
  /** The most ticks that each may live on, by the largest backlog since it was due. */
  const mostTicks = new Map<number, number>();
  let diedBefore = 0;
  /** How many died in each tick. */
  const deaths: number[] = [];
  const protectedAt = new Map<number, number>();

  const count = (what: string): void => meet(books.met, `late ${what}`);

  /** Why a machine is still there, though it is past its end; null where nothing excuses it. */
  function excuseOf(server: ServerState, now: number): string | null {
    const { id } = server;
    // Without a row it has to be found first, whatever end it is found with.
    if ((leases.of(uidOf(server))?.doubtedAt ?? null) !== null) return "its row was in doubt";
    const trouble = troubles.get(id);
    if (trouble !== undefined && now < trouble.failedAt + backOff(trouble.failures) + SLACK_MS) return trouble.by;
    if (now < (books.unseenAt.get(id) ?? 0) + TWO_PASSES_MS) return "was not shown";
    if (now < (protectedAt.get(id) ?? 0) + LONGEST_MS + SLACK_MS) return "was protected";
    const [why] = books.excuses;
    return why ?? null;
  }

  /** Whether mayfly must know of a machine, so that the first tick past its end ends it. */
  const isPlain = (server: ServerState): boolean => leases.isKnown(uidOf(server)) && !books.unseenAt.has(server.id);

  /** Looks at what is left after a tick that began at `now`. */
  return function afterTick(servers: readonly ServerState[], now: number, quality: Quality): void {
    const ends = servers.map((server) => {
      const due = quality === "blind" ? dueBlindly(server, rules) : dueAt(server, leases, rules);
      return { server, isDue: now >= due && !isProtected(server) };
    });
    const backlog = ends.filter(({ isDue }) => isDue).length;
    // What died in the tick was of the backlog too.
    deaths.push(books.died - diedBefore);
    diedBefore = books.died;
    const waited = backlog + (deaths.at(-1) ?? 0);
    // What is tried again waits behind the proofs of what has died before, too.
    const waitedAgain = backlog + deaths.slice(-PROVEN_TICKS).reduce((sum, died) => sum + died, 0);
    for (const { server, isDue } of ends) {
      const { id } = server;
      if (isProtected(server)) protectedAt.set(id, now);
      const isHit = books.hit.has(id);
      const hits = books.hits.get(id) ?? 0;
      const isMet = isHit || hits > (met.get(id) ?? 0);
      met.set(id, hits);
      if (!isDue && quality === "good") ticksPast.delete(id);
      if (!isDue && now > (troubles.get(id)?.failedAt ?? 0) + LONGEST_MS) troubles.delete(id);
      // Its end may have come within the tick.
      if (isMet || (isDue && quality === "bad")) {
        const { failures = 0 } = troubles.get(id) ?? {};
        troubles.set(id, {
          failures: failures + 1,
          failedAt: now,
          by: isMet ? "its own call failed" : "a sweep failed",
        });
      }
      if (!isDue) continue;
      if (quality === "bad" || isHit) continue;
      const excuse = excuseOf(server, now);
      count(excuse ?? "by nothing");
      if (excuse !== null) continue;
      const areOthers = quality === "apart" || (quality === "good" && books.hit.size > 0);
      if (areOthers && waited <= rules.capacity && !ticksPast.has(id) && !troubles.has(id) && isPlain(server))
        books.broken.push(`I8: server ${id} outlived a tick in which others alone failed`);
      if (quality === "apart") continue;
      const past = (ticksPast.get(id) ?? 0) + 1;
      const most = Math.max(
        past === 1 ? 0 : (mostTicks.get(id) ?? 0),
        Math.ceil((troubles.has(id) ? waitedAgain : waited) / rules.capacity) + 1,
      );
      mostTicks.set(id, most);
      ticksPast.set(id, past);
      books.longestOverstay = Math.max(books.longestOverstay, past);
      if (past >= most) books.broken.push(`I1: server ${id} lives after ${past} good ticks past its end`);
    }
  };
}
