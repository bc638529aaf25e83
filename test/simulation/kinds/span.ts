/** Days that pass in jumps. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Scene } from "../acts.ts";
import { dueAt } from "../judge/late.ts";
import { liveRows } from "../judge/rows.ts";
import { HOUR, MINUTE } from "../world/settings.ts";

export interface Span {
  readonly do: "span";
  readonly hours: number;
  /** When cron runs: in the minutes after something is due, once an hour, or not at all. */
  readonly cron: "when_due" | "hourly" | "silent";
  readonly order: number;
}

interface Stage {
  readonly scene: Scene;
  readonly ourServers: () => ServerState[];
  readonly tick: (order: number) => Promise<void>;
}

/** Ticks after each end: to destroy, to prove, and one in which all is quiet. */
const TICKS = 3;
/** Where something is due all the time, as what is protected, the rest of the span is silent. */
const MOST_ENDS = 40;

export async function performSpan(stage: Stage, { hours, cron, order }: Span): Promise<void> {
  const { scene, tick } = stage;
  const { clock } = scene;
  const until = clock.now + hours * HOUR;
  if (cron === "hourly")
    for (; clock.now + HOUR < until;) {
      clock.now += HOUR;
      await tick(order);
    }
  if (cron === "when_due")
    for (let round = 0; round < MOST_ENDS; round++) {
      const next = await nextEnd(stage);
      if (next >= until) break;
      clock.now = next;
      for (let minute = 0; minute < TICKS; minute++) {
        clock.now += MINUTE;
        await tick(order);
      }
    }
  clock.now = Math.max(clock.now, until);
}

/** When something is due next, by rows and by labels; Infinity where nothing is. */
async function nextEnd({ scene, ourServers }: Stage): Promise<number> {
  const rows = await liveRows(scene.database);
  const ends = ourServers().map((server) => dueAt(server, scene.judge.leases, scene.kind.rules));
  for (const { expires_at, next_try_at } of rows.values()) ends.push(expires_at, next_try_at ?? 0);
  return Math.min(...ends.filter((end) => end > scene.clock.now));
}
