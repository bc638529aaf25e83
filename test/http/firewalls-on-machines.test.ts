import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
import { BODY, createMayfly, LOCAL, machineIn, MINUTE, servers, type Mayfly } from "../mayfly.ts";

const WALL = { name: "web", rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const post = (mayfly: Mayfly, machines: unknown, token?: string) =>
  mayfly.send("POST", "/v1/firewalls", { ...WALL, machines }, token);
const guarded = (mayfly: Mayfly) => servers(mayfly).map(({ public_net }) => public_net.firewalls?.length ?? 0);

async function withBoxes(...names: string[]) {
  const mayfly = createMayfly(LOCAL);
  const machines = [];
  for (const name of names) machines.push(machineIn(await mayfly.send("PUT", `/v1/machines/${name}`, BODY)));
  mayfly.advance(MINUTE);
  return { mayfly, machines };
}

describe("a firewall that is made for machines", () => {
  it("is on them, by name and by id, and says so; a repeat is the same one", async () => {
    const { mayfly, machines } = await withBoxes("one", "two", "three");
    const [one, two] = machines;
    const made = await post(mayfly, ["one", two?.id]);
    expect(made).toMatchObject({ status: 201, body: { firewall: { name: "web", machines: [one?.id, two?.id] } } });
    mayfly.advance(MINUTE);
    expect(guarded(mayfly)).toEqual([1, 1, 0]);
    expect((await post(mayfly, ["one", two?.id])).status).toBe(200);
    expect(mayfly.simulator.state().firewalls).toHaveLength(1);
  });

  it("is put by a repeat on those on which it is not, and taken off none", async () => {
    const { mayfly } = await withBoxes("one", "two", "three");
    await post(mayfly, ["one"]);
    mayfly.advance(MINUTE);
    expect((await post(mayfly, ["one", "two"])).status).toBe(200);
    mayfly.advance(MINUTE);
    expect(guarded(mayfly)).toEqual([1, 1, 0]);
    expect((await mayfly.send("POST", "/v1/firewalls", WALL)).status).toBe(200);
    mayfly.advance(MINUTE);
    expect(guarded(mayfly)).toEqual([1, 1, 0]);
  });

  it("that has ended is told to a repeat under its key, and is put on nothing again", async () => {
    const { mayfly } = await withBoxes("one");
    const keyed = () =>
      mayfly.send("POST", "/v1/firewalls", { ...WALL, machines: ["one"] }, undefined, { "Idempotency-Key": "k-1" });
    expect((await keyed()).status).toBe(201);
    mayfly.advance(MINUTE);
    await mayfly.send("POST", "/v1/firewalls/web/remove_from_resources", { machines: ["one"] });
    mayfly.advance(MINUTE);
    expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(200);
    expect(await keyed()).toMatchObject({ status: 200, body: { firewall: { status: "deleted" } } });
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("stays as long as they live", async () => {
    const { mayfly } = await withBoxes("one");
    await post(mayfly, ["one"]);
    expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(202);
    expect(mayfly.simulator.state().firewalls).toHaveLength(1);
  });

  it("says where that takes the provider longer, and the same call again tells", async () => {
    const { mayfly } = await withBoxes("one");
    const real = between(mayfly, async (request, ask) => {
      const answer = await ask(request);
      if (!new URL(request.url).pathname.startsWith("/v1/actions/")) return answer;
      return new Response((await answer.text()).replace(/"status":"\w+"/, '"status":"running"'), answer);
    });
    expect(await post(mayfly, ["one"])).toMatchObject({ status: 202, body: { firewall: { status: "active" } } });
    Object.assign(mayfly.simulator, { fetch: real });
    mayfly.advance(MINUTE);
    expect((await post(mayfly, ["one"])).status).toBe(200);
    expect(guarded(mayfly)).toEqual([1]);
  });

  it.each([
    ["none", [], "machines"],
    ["eleven", Array.from({ length: 11 }, (_, index) => `m${index}`), "machines"],
    ["one that is not there", ["one", "gone"], "machines.1"],
    ["one twice", ["one", "one"], "machines.1"],
    ["one by no name", ["One"], "machines.0"],
    ["no list", "one", "machines"],
  ])("is not made where they are %s", async (_, machines, field) => {
    const { mayfly } = await withBoxes("one");
    expect(await post(mayfly, machines)).toMatchObject({ status: 422, body: { code: "invalid_input", field } });
    expect(mayfly.simulator.state().firewalls).toEqual([]);
    expect((await mayfly.send("GET", "/v1/firewalls")).body).toMatchObject({ firewalls: [] });
  });

  it("is not made for machines of another owner", async () => {
    const { mayfly } = await withBoxes("one");
    const alice = await mayfly.tokenOf("alice");
    expect(await post(mayfly, ["one"], alice)).toMatchObject({ status: 422, body: { field: "machines.0" } });
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("is not made where a policy leaves what machines have to their profiles", async () => {
    const { mayfly } = await withBoxes("one");
    mayfly.configure({ POLICIES: JSON.stringify([{ name: "default", only_profiles: true }]) });
    expect(await post(mayfly, ["one"])).toMatchObject({ status: 403, body: { code: "forbidden", field: "machines" } });
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("is there, though the provider refused to put it on: the same call goes on", async () => {
    const { mayfly } = await withBoxes("one");
    mayfly.simulator.fault({ method: "POST", path: "apply_to_resources$", status: 503 });
    expect((await post(mayfly, ["one"])).status).toBe(503);
    mayfly.simulator.clearFaults();
    expect((await post(mayfly, ["one"])).status).toBe(200);
    mayfly.advance(MINUTE);
    expect([guarded(mayfly), mayfly.simulator.state().firewalls.length]).toEqual([[1], 1]);
  });
});

it("a firewall is put on the others of several machines, though one has it already", async () => {
  const { mayfly } = await withBoxes("one", "two");
  await post(mayfly, ["two"]);
  mayfly.advance(MINUTE);
  const applied = await mayfly.send("POST", "/v1/firewalls/web/apply_to_resources", { machines: ["one", "two"] });
  expect(applied.status).toBe(200);
  mayfly.advance(MINUTE);
  expect(guarded(mayfly)).toEqual([1, 1]);
});
