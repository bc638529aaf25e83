import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "./npm-start.ts";

const state = z.object({ servers: z.array(z.object({ name: z.string() })) });

describe("npm run simulator", () => {
  let stateDir: string;
  let child: ChildProcess | undefined;
  /** Resolves with its address when it says that it is ready. */
  const start = (env: Record<string, string>) =>
    new Promise<{ url: string; said: string }>((resolve, reject) => {
      const started = spawn(process.execPath, ["scripts/simulator.ts"], {
        cwd: ROOT,
        env: { ...process.env, SIM_PORT: "0", ...env },
      });
      child = started;
      let said = "";
      started.once("exit", () => reject(new Error(`it ended: ${said}`)));
      started.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        const url = /^simulator ready on (\S+)\/v1\b/m.exec(said)?.[1];
        if (url !== undefined) resolve({ url, said });
      });
    });
  const kill = async () => {
    if (child === undefined || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child?.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
  };
  const create = async (url: string) => {
    const body = JSON.stringify({ name: "a", server_type: "cx23", image: "debian-13" });
    const headers = { Authorization: "Bearer any", "Content-Type": "application/json" };
    expect((await fetch(`${url}/v1/servers`, { method: "POST", headers, body })).status).toBe(201);
  };
  const names = async (url: string) =>
    state.parse(await (await fetch(`${url}/_sim/state`)).json()).servers.map(({ name }) => name);
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "mayfly-simulator-"));
  });
  afterEach(async () => {
    await kill();
    await rm(stateDir, { recursive: true });
  });

  it("keeps its cloud in the folder that is named, through a kill -9, and says where", async () => {
    const first = await start({ STATE_DIR: stateDir });
    expect(first.said).toContain(`kept in ${stateDir}/`);
    await create(first.url);
    await kill();
    const second = await start({ STATE_DIR: stateDir });
    expect(await names(second.url)).toEqual(["a"]);
  });

  it("keeps nothing where none is", async () => {
    const first = await start({ STATE_DIR: "" });
    await create(first.url);
    await kill();
    const second = await start({ STATE_DIR: "" });
    expect(await names(second.url)).toEqual([]);
    expect(await readdir(stateDir)).toEqual([]);
  });
});
