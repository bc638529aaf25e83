import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { makeCopy, type Copy } from "./copy.ts";
import { npmStart, type Started } from "./npm-start.ts";
import { alive, tree } from "./processes.ts";

const QUARTER_MS = 15 * 60_000;
const headers = { Authorization: "Bearer admin-of-this-test" };
const NAMES = ["a", "b", "c", "d", "e"];

const state = z.object({ servers: z.array(z.object({ id: z.int(), status: z.string() })) });
const machines = z.object({ machines: z.array(z.object({ name: z.string(), provider_id: z.string() })) });

const json = async (url: string, init: RequestInit = {}): Promise<unknown> => (await fetch(url, init)).json();
const post = (url: string, body: object, init: RequestInit = {}) =>
  json(url, { method: "POST", body: JSON.stringify(body), ...init });
const serversOf = async ({ simUrl }: Started) => state.parse(await json(`${simUrl}/_sim/state`)).servers;
const machinesOf = async ({ url }: Started) => machines.parse(await json(`${url}/v1/machines`, { headers })).machines;

const fieldsOf = (value: object): string[] => Object.keys(value).toSorted();

async function create({ url }: Started, name: string): Promise<void> {
  const body = JSON.stringify({ server_type: "cx23", region: "fsn1", ttl: "2h" });
  const { status } = await fetch(`${url}/v1/machines/${name}`, { method: "PUT", headers, body });
  expect(status).toBe(201);
}

/** As the system does it to all of them at once when the memory is full. */
async function killAll({ child }: Started): Promise<void> {
  const pids = tree(child.pid ?? 0);
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await expect.poll(() => alive(pids), { timeout: 10_000 }).toEqual([]);
}

describe("the simulated cloud of npm start", () => {
  let copy: Copy;
  let stateDir: string;
  let started: Started | undefined;
  const start = async (folder = stateDir) => {
    const env = { STATE_DIR: folder, ADMIN_TOKEN: "admin-of-this-test", CRON: "off" };
    return (started = await npmStart(env, copy.path));
  };
  beforeAll(async () => {
    copy = await makeCopy();
  });
  afterAll(() => copy.remove());
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "mayfly-kept-"));
  });
  afterEach(async () => {
    await started?.clear();
    started = undefined;
    await rm(stateDir, { recursive: true });
  });

  it("is there after a kill -9, with all that was answered before, and sweeps find their machines in it", async () => {
    const first = await start();
    for (const name of NAMES) await create(first, name);
    const [servers, before] = [await serversOf(first), await machinesOf(first)];
    await killAll(first);

    const second = await start();
    expect((await serversOf(second)).map(({ id }) => id)).toEqual(servers.map(({ id }) => id));
    expect(await machinesOf(second)).toEqual(before);
    // Two inventory passes: the second would believe what the first had missed.
    for (const at of [Date.now(), Date.now() + QUARTER_MS + 60_000])
      expect(await post(`${second.simUrl}/_sim/tick`, { at })).toMatchObject({ sweep: { outcome: "ok" } });
    expect(await json(`${second.url}/healthz`)).toMatchObject({ status: "green", reasons: [] });
    expect(await serversOf(second)).toHaveLength(NAMES.length);
  });

  it("stays through an end in order, is emptied by a reset, and is another in another folder", async () => {
    const first = await start();
    await create(first, "a");
    await first.clear();
    const second = await start();
    expect(await serversOf(second)).toHaveLength(1);
    await post(`${second.simUrl}/_sim/reset`, {});
    await killAll(second);
    const third = await start();
    expect(await serversOf(third)).toEqual([]);
    await create(third, "b");
    await third.clear();
    const elsewhere = await start(join(stateDir, "other"));
    expect(await serversOf(elsewhere)).toEqual([]);
  });

  it("is told to be lost where its file is broken, which is set aside, and starts empty", async () => {
    await writeFile(join(stateDir, "simulated-cloud.json"), '{"version":1,"servers":[');
    const { output, ...rest } = await start();
    expect(output).toMatch(
      /^the simulated cloud in \S+ cannot be read, and begins empty; .*kept as \S+\.broken-\d+: /m,
    );
    expect(await readdir(stateDir)).toContainEqual(expect.stringMatching(/^simulated-cloud\.json\.broken-\d+$/));
    await create({ ...rest, output }, "a");
  });

  it("answers the whole report of a tick, in the words of POST /v1/sweeps", async () => {
    const { url, simUrl } = await start();
    const ticked = z.object({ sweep: z.looseObject({ phases: z.array(z.looseObject({})) }) });
    const byTick = ticked.parse(await post(`${simUrl}/_sim/tick`, { at: Date.now() })).sweep;
    const bySweep = ticked.parse(await post(`${url}/v1/sweeps`, {}, { headers })).sweep;
    expect(fieldsOf(byTick)).toEqual(fieldsOf(bySweep));
    expect(byTick.phases.map(fieldsOf)).toEqual(bySweep.phases.map(fieldsOf));
    expect(byTick).toMatchObject({ started_by: "cron", outcome: "ok" });
  });
});
