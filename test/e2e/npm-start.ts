// `npm start` as a person runs it: a process of its own on free ports, with a database in a folder that goes afterwards.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

export interface Started {
  child: ChildProcess;
  /** All that it has printed. */
  output: string;
  url: string;
  simUrl: string;
  /** Ends it, and what it has started, where it still runs; removes its database. */
  clear(): Promise<void>;
}

/**
 * Resolves when it says that it is ready; rejects with what it printed when it ends before. A `STATE_DIR` that is named stays.
 * With `isGroup` it is a process group of its own, as a terminal makes it.
 */
export async function npmStart(env: Record<string, string> = {}, cwd = ROOT, isGroup = false): Promise<Started> {
  const [port, simPort] = [await freePort(), await freePort()];
  const stateDir = await mkdtemp(join(tmpdir(), "mayfly-"));
  const child = spawn("npm", ["start"], {
    cwd,
    env: { ...process.env, STATE_DIR: stateDir, PORT: String(port), SIM_PORT: String(simPort), ...env },
    detached: isGroup,
  });
  const started: Started = {
    child,
    output: "",
    url: `http://127.0.0.1:${port}`,
    simUrl: `http://127.0.0.1:${simPort}`,
    async clear() {
      // npm passes SIGTERM on; of a SIGKILL the Worker would learn nothing, and stay.
      if (child.exitCode === null && child.signalCode === null) {
        const exited = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGTERM");
        await exited;
      }
      await rm(stateDir, { recursive: true, force: true });
    },
  };
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`npm start ended with ${code}: ${started.output}`)));
      const read = (chunk: Buffer) => {
        started.output += chunk.toString();
        // The last line of its greeting.
        if (/^Ctrl-C stops [^]*\.$/m.test(started.output)) resolve();
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
    });
  } catch (error) {
    await started.clear();
    throw error;
  }
  return started;
}
