// What an inventory pass holds in memory: if it grew with the machines, there would be a number at which the Worker dies.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { Bench, Group } from "./figure.ts";
import { freePort, inspect, type Inspector } from "./inspector.ts";
import { seedMachines } from "./seed.ts";
import { settle } from "./settled.ts";
import { startWorld } from "./world.ts";

const MINUTE = 60_000;
const MIB = 1024 * 1024;
const [FEW, MANY] = [1000, 10_000];
/** As many looks at either: the more looks, the higher the highest. */
const LOOKS = 80;
/** Between two of them, for a pass over a thousand. */
const LOOK_MS = 10;

const usage = z.object({ usedSize: z.number(), embedderHeapUsedSize: z.number(), backingStorageSize: z.number() });

interface Heap {
  /** Before the pass, in MiB. */
  readonly before: number;
  /** The most that was reachable at any look during it. */
  readonly highest: number;
  readonly looks: number;
}

export const memory: Group = {
  names: ["memory: inventory of 10,000 ÷ 1,000"],
  async measure(bench) {
    const few = await heapOfPass(bench, FEW);
    const many = await heapOfPass(bench, MANY);
    const told = ({ before, highest, looks }: Heap) =>
      `${highest.toFixed(2)} MiB at most, ${before.toFixed(2)} before, in ${looks} looks`;
    const note = `10,000: ${told(many)}; 1,000: ${told(few)}`;
    return [{ name: "memory: inventory of 10,000 ÷ 1,000", value: many.highest / few.highest, note }];
  },
};

async function heapOfPass(bench: Bench, machines: number): Promise<Heap> {
  bench.say(`memory: an inventory pass over ${machines} machines`);
  const { provider } = bench;
  await provider.reset();
  const inspectorPort = await freePort();
  // As many slices a tick as there can be.
  const world = await startWorld(bench, { settings: { PLAN: "paid" }, inspectorPort });
  const inspector = await inspect(inspectorPort);
  try {
    await seedMachines(world, provider, machines);
    await settle(world, provider);
    const before = await reachable(inspector);
    let [highest, looks] = [before, 0];
    for (let passes = 1; looks < LOOKS; passes++) {
      const pass = settle(world, provider, Date.now() + passes * 16 * MINUTE).then(() => "over" as const);
      const pause = LOOK_MS * (machines / FEW);
      while ((await Promise.race([pass, sleep(pause, "under way" as const)])) !== "over") {
        highest = Math.max(highest, await reachable(inspector));
        looks += 1;
      }
    }
    return { before, highest, looks };
  } finally {
    inspector.close();
    await world.stop();
  }
}

/** MiB that the isolate holds, once its garbage was collected: which a snapshot does first, and nothing else that workerd answers. */
async function reachable(inspector: Inspector): Promise<number> {
  await inspector.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  const sizes = usage.parse(await inspector.send("Runtime.getHeapUsage"));
  return (sizes.usedSize + sizes.embedderHeapUsedSize + sizes.backingStorageSize) / MIB;
}
