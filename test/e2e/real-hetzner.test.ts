import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { createDrivenSimulator } from "../driven-simulator.ts";
import type { Simulator } from "../simulator/simulator.ts";
import { makeCopy, type Copy } from "./copy.ts";
import { npmStart, type Started } from "./npm-start.ts";

const headers = { Authorization: "Bearer admin-of-this-test" };
const body = JSON.stringify({ server_type: "cx23", region: "fsn1", ttl: "2h" });

/** What stands in for the real API is a simulator that npm start knows nothing of. */
describe("npm start under REAL_HETZNER=yes", () => {
  let copy: Copy;
  let cloud: Simulator;
  let server: SimulatorServer;
  let stateDir: string;
  const running: Started[] = [];
  const start = async (env: Record<string, string> = {}, isGroup = false) => {
    const real = { REAL_HETZNER: "yes", HCLOUD_TOKEN: "any", HCLOUD_ENDPOINT: `${server.url}/v1`, STATE_DIR: stateDir };
    const started = await npmStart(
      { ...real, ADMIN_TOKEN: "admin-of-this-test", CRON: "off", ...env },
      copy.path,
      isGroup,
    );
    running.push(started);
    return started;
  };
  /** All that it has said, once it has ended. */
  const stopped = async (started: Started, stop: () => void) => {
    const exited = new Promise((resolve) => started.child.once("close", resolve));
    stop();
    await exited;
    return started.output;
  };
  const put = async ({ url }: Started, name: string) =>
    expect((await fetch(`${url}/v1/machines/${name}`, { method: "PUT", headers, body })).status).toBe(201);
  beforeAll(async () => {
    copy = await makeCopy();
    cloud = createDrivenSimulator({});
    server = await serveSimulator(cloud, 0);
  });
  afterAll(async () => {
    await server.close();
    await copy.remove();
  });
  beforeEach(async () => {
    cloud.reset();
    stateDir = await mkdtemp(join(tmpdir(), "mayfly-real-"));
  });
  afterEach(async () => {
    for (const started of running.splice(0)) await started.clear();
    await rm(stateDir, { recursive: true });
  });

  it("says at its start that machines outlive it, and at its end which ones do and what they cost", async () => {
    const started = await start();
    expect(started.output).toMatch(/^Ctrl-C stops mayfly, and no machine: /m);
    expect(started.output).not.toContain("stops everything");
    for (const name of ["a", "b"]) await put(started, name);
    const ids = cloud.state().servers.map(({ id }) => id);
    const output = await stopped(started, () => started.child.kill("SIGTERM"));
    expect(output).toMatch(/^2 machines stay at Hetzner and cost 0\.0\d{3} EUR an hour in all:$/m);
    for (const [index, name] of ["a", "b"].entries())
      expect(output).toMatch(new RegExp(`^  ${name}  admin  ${ids[index]}  until \\d{4}-\\S+Z$`, "m"));
    expect(output).toContain("Nothing destroys them until mayfly is started again");
    expect(cloud.state().servers).toHaveLength(2);
  });

  it("says the same where a terminal's Ctrl-C reaches all of its processes at once", async () => {
    const started = await start({}, true);
    await put(started, "a");
    const output = await stopped(started, () => process.kill(-(started.child.pid ?? 0), "SIGINT"));
    expect(output).toMatch(/^1 machine stays at Hetzner and cost 0\.0\d{3} EUR an hour in all:$/m);
  });

  it("says where nothing stays", async () => {
    const started = await start();
    expect(await stopped(started, () => started.child.kill("SIGTERM"))).toContain("No machine stays at Hetzner.");
  });

  it("has an installation of its own in each folder, which stays: neither looks after the other's machines", async () => {
    const installationOf = ({ output }: Started) => /^ {2}installation (\S+)$/m.exec(output)?.[1] ?? "";
    const one = await start();
    const other = await start({ STATE_DIR: join(stateDir, "other") });
    expect(installationOf(one)).toMatch(/^local-[0-9a-f]{24}$/);
    expect(installationOf(other)).not.toBe(installationOf(one));
    await put(one, "a");
    const tick = await fetch(`${other.url}/v1/sweeps`, { method: "POST", headers, body: "{}" });
    expect(await tick.json()).toMatchObject({ sweep: { outcome: "ok" } });
    expect(await (await fetch(`${other.url}/v1/machines`, { headers })).json()).toMatchObject({ machines: [] });
    await one.clear();
    expect(installationOf(await start())).toBe(installationOf(one));
  });
});
