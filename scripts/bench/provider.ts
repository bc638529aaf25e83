// The simulated Hetzner Cloud as a process of its own, played through its control plane.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import * as z from "zod";

const entries = z.object({ requests: z.array(z.object({ method: z.string(), path: z.string(), status: z.number() })) });
const state = z.object({ servers: z.array(z.unknown()) });
/** So many requests at once while machines are put in. */
const AT_ONCE = 16;

export type ApiEntry = z.infer<typeof entries>["requests"][number];

export interface Provider {
  /** Without a path. */
  readonly url: string;
  /** An empty project without limits. */
  reset(): Promise<void>;
  /** Puts servers in as given. */
  add(servers: readonly object[]): Promise<void>;
  /** What was asked of it since it was reset. */
  requests(): Promise<readonly ApiEntry[]>;
  /** How many servers it has. */
  count(): Promise<number>;
  /** Moves its clock. */
  advance(seconds: number): Promise<void>;
  /** Answers everything so much later. */
  slow(milliseconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one on a free port. */
export async function startProvider(): Promise<Provider> {
  const script = fileURLToPath(new URL("../simulator.ts", import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, SIM_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill());
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the simulator ended with ${code} before it was ready`)));
    createInterface(child.stdout).once("line", (line) => resolve(line.replace(/^.* on (.*)\/v1$/, "$1")));
  });
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${url}/_sim/${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /_sim/${path}: ${text}`);
    return JSON.parse(text);
  };
  return {
    url,
    async reset() {
      await ask("POST", "reset", { limits: { servers: 1_000_000 }, rate_limit: 100_000_000 });
    },
    async add(servers) {
      const left = servers.values();
      const worker = async (): Promise<void> => {
        for (const server of left) await ask("POST", "servers", server);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
    requests: async () => entries.parse(await ask("GET", "requests")).requests,
    count: async () => state.parse(await ask("GET", "state")).servers.length,
    async advance(seconds) {
      await ask("POST", "clock", { advance_seconds: seconds });
    },
    async slow(milliseconds) {
      for (const method of ["GET", "POST", "PUT", "DELETE"])
        await ask("POST", "faults", { method, path: ".*", times: 1_000_000, delay_ms: milliseconds });
    },
    async stop() {
      child.removeAllListeners("exit");
      const gone = once(child, "exit");
      child.kill();
      await gone;
    },
  };
}
