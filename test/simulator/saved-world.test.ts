import { describe, expect, it } from "vitest";
import { START_MS, startSimulator } from "./client.ts";
import { KEY_A } from "./sample-keys.ts";

const NETWORK = {
  name: "n",
  ip_range: "10.0.0.0/16",
  subnets: [{ type: "cloud", network_zone: "eu-central", ip_range: "10.0.1.0/24" }],
};

/** A project with one of everything, in the midst of things. */
async function busyProject() {
  const world = startSimulator();
  const { sim, send, create, running, snap } = world;
  await send("POST", "/v1/ssh_keys", { name: "k", public_key: KEY_A });
  await send("POST", "/v1/networks", NETWORK);
  const { id } = await running("old");
  await snap(id, { labels: { of: "old" } });
  await send("POST", "/v1/firewalls", {
    name: "f",
    apply_to: [
      { type: "server", server: { id } },
      { type: "label_selector", label_selector: { selector: "a=b" } },
    ],
  });
  const gone = await running("gone");
  sim.advance(3600);
  await send("DELETE", `/v1/servers/${gone.id}`);
  sim.stock({ server_type: "cx23", location: "fsn1", available: false });
  sim.setPrices(150);
  sim.fault({ method: "GET", path: "^/v1/images$", times: Infinity, status: 500 });
  sim.fault({ path: "^/v1/servers$", hide_from_list_seconds: 60 });
  await create({ name: "new", labels: { a: "b" }, networks: [40_001], ssh_keys: ["k"], user_data: "#!/bin/sh" });
  sim.addServer({ name: "odd", status: "quantum", labels: null });
  return world;
}

async function answerOf({ send }: ReturnType<typeof startSimulator>, path: string) {
  const { status, body } = await send("GET", path);
  return { status, body };
}

describe("a project that is saved and restored", () => {
  it("is the same, and goes on in the same way", async () => {
    const world = await busyProject();
    const { sim } = world;
    const saved = sim.save();
    const other = startSimulator();
    other.sim.restore(saved);
    for (const seconds of [0, 0.2, 60, 3600]) {
      for (const one of [sim, other.sim]) one.advance(seconds);
      expect(other.sim.state()).toEqual(sim.state());
      expect(other.sim.bill()).toEqual(sim.bill());
      for (const path of ["/v1/servers", "/v1/images", "/v1/firewalls", "/v1/networks", "/v1/pricing"])
        expect(await answerOf(other, path), path).toEqual(await answerOf(world, path));
    }
    expect(JSON.parse(other.sim.save())).toEqual(JSON.parse(sim.save()));
  });

  it("gives no id twice, and logs from anew", async () => {
    const { sim } = await busyProject();
    const other = startSimulator({ first_id: 7 });
    other.sim.restore(sim.save());
    expect(other.sim.requests()).toEqual([]);
    const ids = sim.state().servers.map(({ id }) => id);
    expect((await other.running("next")).id).toBeGreaterThan(Math.max(...ids));
  });

  it("is at the time that its clock was moved to", () => {
    const { sim } = startSimulator();
    sim.advance(86_400);
    const later = startSimulator({ now: () => START_MS + 5000 });
    later.sim.restore(sim.save());
    expect(later.sim.now()).toBe(START_MS + 86_405_000);
  });

  it.each([
    ["no JSON", "{", "no JSON"],
    ["nothing", "", "no JSON"],
    ["another version", JSON.stringify({ version: 99 }), "another version"],
    ["another thing", "[]", "expected object"],
  ])("cannot be restored from %s, and what there is stays", async (_what, text, reason) => {
    const { sim, running } = startSimulator();
    await running();
    const before = sim.state();
    expect(() => sim.restore(text)).toThrow(reason);
    expect(sim.state()).toEqual(before);
  });

  it("cannot be restored from one that names an action which it lacks", async () => {
    const { sim, running } = startSimulator();
    await running();
    const saved = sim.save().replace(/"actions":\[\{.*?\}\],"servers"/, '"actions":[],"servers"');
    expect(() => startSimulator().sim.restore(saved)).toThrow("an action that it does not have");
  });
});
