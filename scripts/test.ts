// `npx vitest run` in lanes side by side. The tests of the Worker share one workerd and go one file at a time, so that each of their lanes
// keeps one core busy: two go at once. Those of whole processes mostly wait for them, and go beside. What a lane says has its name before
// it. What goes wrong in any fails the command; options go to all of them.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** Each takes as long as a lane: behind the others of its shard it would be the last to end. */
const HISTORIES = "test/simulation/simulation.test.ts";
const DAYS = "test/four-hundred-days.test.ts";
const shard = (part: string) => ["--project", "worker", "--shard", part];

/** By name, the longest first. */
const BUSY: Readonly<Record<string, readonly string[]>> = {
  histories: ["--project", "worker", HISTORIES],
  "400 days": ["--project", "worker", DAYS],
  "worker 1/3": shard("1/3"),
  "worker 2/3": shard("2/3"),
  "worker 3/3": shard("3/3"),
};
const WAITING: Readonly<Record<string, readonly string[]>> = {
  "e2e 1/2": ["--project", "e2e", "--shard", "1/2"],
  "e2e 2/2": ["--project", "e2e", "--shard", "2/2"],
};

/** Runs a lane, and answers with the code that it ended with. */
function run(name: string, args: readonly string[]): Promise<number> {
  const env = args.includes("--shard") ? { ...process.env, LONG_TESTS: [HISTORIES, DAYS].join(",") } : process.env;
  const child = spawn("npx", ["vitest", "run", ...args], { stdio: ["ignore", "pipe", "pipe"], env });
  const tell = (stream: Readable) =>
    createInterface({ input: stream }).on("line", (line) => console.log(`${name} | ${line}`));
  tell(child.stdout);
  tell(child.stderr);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

const failed: string[] = [];
/** Runs lanes, so many at once. */
async function runAll(lanes: Readonly<Record<string, readonly string[]>>, atOnce: number): Promise<void> {
  const left = Object.entries(lanes);
  const work = async (): Promise<void> => {
    for (let lane = left.shift(); lane !== undefined; lane = left.shift()) {
      const [name, args] = lane;
      if ((await run(name, [...args, ...process.argv.slice(2)])) !== 0) failed.push(name);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

const startedAt = Date.now();
await Promise.all([runAll(BUSY, Math.min(2, availableParallelism())), runAll(WAITING, 2)]);
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
console.log(failed.length === 0 ? `all passed in ${seconds} s` : `failed in ${seconds} s: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
