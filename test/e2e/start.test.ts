import { execFile, spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const shell = promisify(execFile);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Every process below one, itself included. */
function tree(pid: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
  return [pid, ...children.flatMap(tree)];
}
function parentOf(pid: string): number {
  try {
    return Number(/\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
  } catch {
    return -1; // it has ended meanwhile
  }
}
const alive = (pids: number[]): number[] => pids.filter((pid) => parentOf(String(pid)) > 0);

describe("npm start", () => {
  let stateDir: string;
  let child: ChildProcess;
  let output = "";

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "mayfly-"));
    output = "";
  });
  afterEach(async () => {
    child.kill("SIGKILL");
    await rm(stateDir, { recursive: true, force: true });
  });

  async function start(env: Record<string, string> = {}): Promise<void> {
    const [port, simPort] = [await freePort(), await freePort()];
    child = spawn("npm", ["start"], {
      cwd: ROOT,
      env: { ...process.env, STATE_DIR: stateDir, PORT: String(port), SIM_PORT: String(simPort), ...env },
    });
    const ended = new Promise<never>((_resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`npm start ended with ${code}: ${output}`)));
    });
    const ready = new Promise<void>((resolve) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes("Ctrl-C stops everything.")) resolve();
      };
      child.stdout?.on("data", read);
      child.stderr?.on("data", read);
    });
    await Promise.race([ready, ended]);
    ended.catch(() => undefined);
  }

  it.each(["SIGINT", "SIGTERM"] as const)(
    "prints three lines that work, and %s leaves no process behind",
    async (signal) => {
      await start();
      expect(output).toMatch(/^mayfly ready on http:\/\/127\.0\.0\.1:\d+$/m);
      const lines = output.split("\n").flatMap((line) => /^\s*(curl .*)$/.exec(line)?.[1] ?? []);
      expect(lines).toHaveLength(3);
      const answers: string[] = [];
      for (const line of lines)
        answers.push((await shell("sh", ["-c", line.replace("curl", "curl -sS --fail-with-body")])).stdout);
      expect(answers[0]).toContain('"status":"creating"');
      expect(answers[1]).toContain('"name":"first"');
      expect(answers[2]).toContain('"status":"destroyed"');

      const pids = tree(child.pid ?? 0);
      expect(pids.length).toBeGreaterThan(1);
      const exited = new Promise((resolve) => child.once("exit", resolve));
      // As a terminal does it: to the whole foreground group at once, or as a supervisor does it: to npm alone.
      child.kill(signal);
      await exited;
      await expect.poll(() => alive(pids), { timeout: 10_000 }).toEqual([]);
    },
  );

  it("ignores a Hetzner token in the shell, and says so", async () => {
    await start({ HCLOUD_TOKEN: "real-looking-token", CRON: "off" });
    expect(output).toContain("HCLOUD_TOKEN is set and ignored");
    expect(output).toContain("off (CRON=off)");
    expect(output).not.toContain("real-looking-token");
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  });

  it("says in plain words what keeps it from starting", async () => {
    await expect(start({ PORT: "99999" })).rejects.toThrow("PORT must be a port from 0 to 65535");
    await expect(start({ MAX_AGE: "banana" })).rejects.toThrow("MAX_AGE must be a whole number and a unit");
    await expect(start({ REAL_HETZNER: "yes", HCLOUD_TOKEN: "" })).rejects.toThrow(
      "REAL_HETZNER=yes needs HCLOUD_TOKEN",
    );
    const taken = createServer();
    const simPort = await freePort();
    await new Promise<void>((resolve) => taken.listen(simPort, "127.0.0.1", resolve));
    await expect(start({ SIM_PORT: String(simPort) })).rejects.toThrow("the port is taken");
    taken.close();
  });
});
