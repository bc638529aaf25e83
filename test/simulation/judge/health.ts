/** I9: `/healthz` is red while no sweep was seen to go well for three intervals, and green while all do and nothing is overdue. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Rules } from "../kinds/kind.ts";
import type { Books } from "./books.ts";
import { dueAt, type Quality } from "./late.ts";
import type { Leases } from "./leases.ts";
import { meet } from "../tally.ts";
import type { Answer } from "../world/installation.ts";
import { HOUR, MINUTE, RECOVERY } from "../world/settings.ts";
import { isProtected } from "../world/truth.ts";

const SILENCE_MS = 3 * MINUTE;
/** Three passes of the inventory: what a person has taken is given up at the second that sees it. */
const LONG_MS = 46 * MINUTE;
/** What the sweeps could not end for so long is told of. */
const OVERDUE_MS = HOUR;
/** And so late nothing is that is well. */
const LATE_MS = 20 * MINUTE;

interface Asked {
  readonly books: Books;
  readonly leases: Leases;
  readonly rules: Rules;
  readonly sweptAt: () => number;
  readonly ask: () => Promise<Answer | undefined>;
  readonly servers: () => readonly ServerState[];
}

export function createHealth({ books, leases, rules, sweptAt, ask, servers }: Asked, begin: number) {
  /** Since when all went well, a minute apart. */
  let goodSince: number | null = null;
  let lastTick = begin;
  /** When something was last there that had no right to be. */
  let lateAt = begin;

  return {
    /** A tick at `now` has gone so. */
    tick(now: number, quality: Quality): void {
      const isGap = now < lastTick || now - lastTick > 2 * MINUTE;
      lastTick = now;
      goodSince = quality === "good" ? (isGap ? now : (goodSince ?? now)) : null;
    },
    /** What it goes by is another: D1 was changed. */
    forget(): void {
      goodSince = null;
    },
    async check(now: number): Promise<void> {
      const answer = await ask();
      if (answer === undefined) return;
      const held = servers().filter(isProtected);
      const isOverdue = (server: ServerState) => now >= dueAt(server, leases, rules) + OVERDUE_MS;
      if (held.length > 0 || servers().some((server) => now >= dueAt(server, leases, rules) + LATE_MS)) lateAt = now;
      const isLong = goodSince !== null && now - goodSince > LONG_MS && now - lastTick < MINUTE;
      const isWell = now - lateAt > RECOVERY && books.excuses.size + books.doubts.size === 0;
      const isSilent = now - sweptAt() > SILENCE_MS;
      const must = isSilent || (isLong && held.some(isOverdue)) ? 503 : isLong && isWell ? 200 : null;
      const count = must === null ? "not held" : must === 200 ? "green" : "red";
      meet(books.met, `health ${count}`);
      if (must !== null && answer.status !== must)
        books.broken.push(
          `I9: health is ${answer.status}, not ${must}, at ${new Date(now).toISOString()}: ${answer.text}`,
        );
    },
  };
}
