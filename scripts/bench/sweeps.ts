// What a sweep gets done: in one tick of a free plan, and beside the shell script that one finds in place of mayfly.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench, Figure, Group } from "./figure.ts";
import { endDue, seedMachines } from "./seed.ts";
import { settle } from "./settled.ts";
import { spreadOf, spreadText } from "./statistics.ts";
import { isMet, type Name } from "./targets.ts";
import { HCLOUD_TOKEN, startWorld, type World } from "./world.ts";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("script.sh", import.meta.url));
const MINUTE = 60_000;
const [ALL, DUE] = [1000, 100];
const RUNS = 5;
/** docs/decisions/five-at-once.md */
const AT_ONCE = 5;

export const freeTick: Group = {
  names: ["sweep: deaths in one free tick"],
  async measure(bench) {
    bench.say("sweep: one tick of a free plan");
    const { provider } = bench;
    await provider.reset();
    const world = await startWorld(bench, { settings: { PLAN: "free" } });
    try {
      await seedMachines(world, provider, 100);
      await settle(world, provider);
      await seedMachines(world, provider, 30, { endsIn: -MINUTE, prefix: "due" });
      const before = await provider.count();
      const asked = (await provider.requests()).length;
      await world.tick(Date.now());
      const value = before - (await provider.count());
      const calls = (await provider.requests()).length - asked;
      return [{ name: "sweep: deaths in one free tick", value, note: `of 30 due, by ${calls} calls` }];
    } finally {
      await world.stop();
    }
  },
};

const AGAINST: Partial<Record<Name, number>> = {
  "sweep: script ÷ mayfly, provider at 0 ms": 0,
  "sweep: script ÷ mayfly, provider at 30 ms": 30,
};

export const againstScript: Group = {
  names: ["sweep: script ÷ mayfly, provider at 0 ms", "sweep: script ÷ mayfly, provider at 30 ms"],
  async measure(bench) {
    const missing = await whatIsMissing();
    const figures: Figure[] = [];
    for (const name of this.names) {
      if (!bench.wants(name)) continue;
      if (missing !== null) figures.push({ name, value: null, note: `${missing} is not installed here` });
      else figures.push(await ratioAt(bench, name, AGAINST[name] ?? 0));
    }
    return figures;
  },
};

async function whatIsMissing(): Promise<string | null> {
  for (const tool of ["hcloud", "jq", "xargs"])
    try {
      await run("sh", ["-c", `command -v ${tool}`]);
    } catch {
      return tool;
    }
  return null;
}

async function ratioAt(bench: Bench, name: Name, delay: number): Promise<Figure> {
  const world = await startWorld(bench, { settings: { PLAN: "paid" } });
  try {
    const ours: number[] = [];
    const theirs: number[] = [];
    let calls = 0;
    for (let round = 0; round <= RUNS; round++) {
      bench.say(`${name}: ${round === 0 ? "once to warm up" : `${round} of ${RUNS}`}`);
      const mayfly = await timed(bench, world, delay, () => world.tick(Date.now()));
      const script = await timed(bench, world, delay, () => runScript(bench.provider.url));
      // The first is to make everybody warm.
      if (round === 0) continue;
      ours.push(mayfly.ms);
      theirs.push(script.ms);
      calls = mayfly.calls;
    }
    const [mayfly, script] = [spreadOf(ours), spreadOf(theirs)];
    const note = `mayfly ${spreadText(mayfly, 0)} ms, script ${spreadText(script, 0)} ms: ${DUE} of ${ALL}`;
    const value = script.median / mayfly.median;
    if (isMet(name, value)) return { name, value, note };
    const floor = script.median / (await bareMs(bench, delay, calls));
    return { name, value, note: `${note}; bare, ${calls} calls, ${AT_ONCE} at once: ${floor.toFixed(2)}` };
  } finally {
    await world.stop();
  }
}

/** Milliseconds that as many calls take whoever sends them as mayfly may, and does nothing else. */
async function bareMs({ provider }: Bench, delay: number, calls: number): Promise<number> {
  await provider.reset();
  if (delay > 0) await provider.slow(delay);
  const headers = { Authorization: `Bearer ${HCLOUD_TOKEN}` };
  let left = calls;
  const sender = async (): Promise<void> => {
    while (left-- > 0) await (await fetch(`${provider.url}/v1/servers/1`, { headers })).text();
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return performance.now() - began;
}

/** What was asked of the provider until what is due is gone there, and the milliseconds; throws where it is not gone. */
async function timed(
  { provider }: Bench,
  world: World,
  delay: number,
  act: () => Promise<unknown>,
): Promise<{ ms: number; calls: number }> {
  await provider.reset();
  await world.db.batch(["machines", "events", "sweeps"].map((table) => world.db.prepare(`DELETE FROM ${table}`)));
  await seedMachines(world, provider, ALL - DUE);
  await settle(world, provider);
  await endDue(world);
  await seedMachines(world, provider, DUE, { endsIn: -MINUTE, prefix: "due" });
  if (delay > 0) await provider.slow(delay);
  const before = (await provider.requests()).length;
  const began = performance.now();
  await act();
  const ms = performance.now() - began;
  const calls = (await provider.requests()).length - before;
  const left = await provider.count();
  if (left !== ALL - DUE) throw new Error(`${left} servers are left, and not ${ALL - DUE}`);
  return { ms, calls };
}

const runScript = (url: string) =>
  run(SCRIPT, [], { env: { PATH: process.env["PATH"], HCLOUD_ENDPOINT: `${url}/v1`, HCLOUD_TOKEN } });
