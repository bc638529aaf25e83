// `npx vitest run` in lanes: as many at once as there are cores, since the tests of the Worker share one workerd and go one file at a time. Each lane
// prints when it has ended; what went wrong in any fails the command.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/** The longest first. */
const LANES = [
  ["--project", "worker", "--shard", "1/2"],
  ["--project", "worker", "--shard", "2/2"],
  ["--project", "e2e"],
] as const;

interface Ended {
  readonly lane: string;
  readonly output: string;
  readonly code: number;
  readonly seconds: number;
}

function run(args: readonly string[]): Promise<Ended> {
  const startedAt = Date.now();
  return new Promise((resolve, reject) => {
    const child = spawn("npx", ["vitest", "run", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      resolve({ lane: args.join(" "), output: Buffer.concat(chunks).toString(), code: code ?? 1, seconds });
    });
  });
}

const waiting = [...LANES];
const failed: string[] = [];
async function work(): Promise<void> {
  for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
    const { lane: name, output, code, seconds } = await run(lane);
    console.log(`${output}\n${name}: ${code === 0 ? "passed" : "FAILED"} in ${seconds} s`);
    if (code !== 0) failed.push(name);
  }
}
await Promise.all(Array.from({ length: Math.min(LANES.length, availableParallelism()) }, work));
if (failed.length > 0) {
  console.error(`failed: ${failed.join("; ")}`);
  process.exitCode = 1;
}
