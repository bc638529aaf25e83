// CPU time inside an isolate, from V8's sampling profiler. It looks at the isolate in even steps; what it finds working is counted.
import * as z from "zod";
import { workerdMs } from "./workerd.ts";
import type { Bench } from "./figure.ts";
import { freePort, inspect, type Inspector } from "./inspector.ts";
import { spreadOf, spreadText } from "./statistics.ts";
import { startWorld } from "./world.ts";

const profileAnswer = z.object({
  profile: z.object({
    nodes: z.array(z.object({ id: z.number(), callFrame: z.object({ functionName: z.string() }) })),
    samples: z.array(z.number()),
  }),
});
/** Asked for; what comes is slower, which {@link stepOf} finds out. */
const INTERVAL_US = 100;
/** `(program)` is native code that the isolate runs, and is counted: an isolate that waits is not looked at. */
const AT_REST = new Set(["(idle)", "(root)"]);
/** What goes on behind an answer has ended by then. */
const BEHIND_MS = 40;

export async function openProfiler(port: number): Promise<Inspector> {
  const inspector = await inspect(port);
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  return inspector;
}

/** In how many samples the isolate was found working, its garbage collector included. */
export async function samplesOf(inspector: Inspector, act: () => Promise<unknown>): Promise<number> {
  await inspector.send("Profiler.start");
  await act();
  await new Promise((resolve) => setTimeout(resolve, BEHIND_MS));
  const { nodes, samples } = profileAnswer.parse(await inspector.send("Profiler.stop")).profile;
  const resting = new Set(nodes.filter(({ callFrame }) => AT_REST.has(callFrame.functionName)).map(({ id }) => id));
  return samples.filter((id) => !resting.has(id)).length;
}

/** Works for a while in one go, and does nothing else. */
const BURN = `export default { fetch(request) {
  const rounds = Number(new URL(request.url).searchParams.get("rounds"));
  let length = 0;
  for (let i = 0; i < rounds; i++) length += JSON.stringify({ i, list: [1, 2, 3], text: "x" + i }).length;
  return new Response(String(length));
} }`;
const ROUNDS = 500_000;
const RUNS = 6;

/** The milliseconds of CPU time that one sample stands for on this machine: known work as the kernel counts it, over the samples of it. */
export async function stepOf(bench: Bench): Promise<number> {
  const port = await freePort();
  const world = await startWorld(bench, { modules: [{ path: "index.js", contents: BURN }], inspectorPort: port });
  const inspector = await openProfiler(port);
  try {
    const burn = (rounds: number) => world.call("GET", `/?rounds=${rounds}`, 200);
    for (let warm = 0; warm < 3; warm++) await burn(ROUNDS);
    const steps: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      let took = 0;
      const samples = await samplesOf(inspector, async () => {
        const before = workerdMs();
        await burn(ROUNDS);
        took = workerdMs() - before;
      });
      steps.push(took / samples);
    }
    const spread = spreadOf(steps);
    bench.say(`cpu: a sample is ${spreadText(spread, 3)} ms`);
    return spread.median;
  } finally {
    inspector.close();
    await world.stop();
  }
}
