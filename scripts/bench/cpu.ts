// CPU time of the second invocation of a kind in a fresh isolate: a Worker that is called now and then lives there, neither cold nor warm.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, Figure, Group } from "./figure.ts";
import { freePort } from "./inspector.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { openProfiler, samplesOf, stepOf } from "./profile.ts";
import { seedMachines } from "./seed.ts";
import { settle } from "./settled.ts";
import { spreadOf, spreadText } from "./statistics.ts";
import { TookTooLong, within } from "./workerd.ts";
import { startWorld } from "./world.ts";

const ISOLATES = 5;
const MACHINES = 100;
/** A fresh isolate and two invocations take a few seconds. */
const PATIENCE_MS = 30_000;
const MOST_TRIES = 3;

export const cpu: Group = {
  names: KINDS.map(({ name }) => name),
  async measure(bench) {
    bench.say("cpu: how long a sample of the profiler is");
    const step = await again(bench, () => stepOf(bench));
    const figures: Figure[] = [];
    for (const kind of KINDS) if (bench.wants(kind.name)) figures.push(await figureOf(bench, kind, step));
    return figures;
  },
};

async function figureOf(bench: Bench, kind: Kind, step: number): Promise<Figure> {
  bench.say(kind.name);
  const stateDir = await mkdtemp(join(tmpdir(), "mayfly-bench-"));
  try {
    const token = await prepare(bench, kind, stateDir);
    const samples: number[] = [];
    let invocations = 0;
    const next = () => invocations++;
    for (let isolate = 0; isolate < ISOLATES; isolate++)
      samples.push(await again(bench, () => inFreshIsolate(bench, kind, { stateDir, token, next })));
    const spread = spreadOf(samples.map((count) => count * step));
    return { name: kind.name, value: spread.median, note: `${spreadText(spread, 1)} in ${ISOLATES} isolates` };
  } catch (error) {
    const note = `failed: ${error instanceof Error ? error.message : String(error)}`;
    return { name: kind.name, value: null, note };
  } finally {
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Once more where workerd hangs. */
async function again<T>(bench: Bench, act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await within(PATIENCE_MS, act);
    } catch (error) {
      if (!(error instanceof TookTooLong) || tries === MOST_TRIES) throw error;
      bench.say("cpu: workerd hangs; once more");
    }
}

/** A database in which all is settled, and a token for it. */
async function prepare(bench: Bench, { machines = MACHINES, settings = {} }: Kind, stateDir: string): Promise<string> {
  await bench.provider.reset();
  const world = await startWorld(bench, { stateDir, settings, withBrakes: true });
  try {
    const token = await world.mint();
    await seedMachines(world, bench.provider, machines);
    await settle(world, bench.provider);
    return token;
  } finally {
    await world.stop();
  }
}

/** Samples in which the second invocation was found working. */
async function inFreshIsolate(
  { mayfly, provider }: Bench,
  kind: Kind,
  { stateDir, token, next }: { stateDir: string; token: string; next: () => number },
): Promise<number> {
  const inspectorPort = await freePort();
  const { settings = {} } = kind;
  const world = await startWorld({ mayfly, provider }, { stateDir, settings, inspectorPort, withBrakes: true });
  const inspector = await openProfiler(inspectorPort);
  try {
    // One that hung may have held it.
    await world.db.prepare("UPDATE locks SET held_until = 0").run();
    const first = { world, provider, token, nth: next(), isFirst: true };
    await kind.given?.(first);
    await kind.act(first);
    const second = { ...first, nth: next(), isFirst: false };
    await kind.given?.(second);
    return await samplesOf(inspector, () => kind.act(second));
  } finally {
    inspector.close();
    await world.stop();
  }
}
