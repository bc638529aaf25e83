import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, minutes, MINUTE, NOW, SECOND, servers, type Mayfly } from "../mayfly.ts";

const BEFORE = "installation-before-1";
const MOVED = { INSTALLATION: "installation-since-12" };
const NAMED = { ...MOVED, PREVIOUS_INSTALLATIONS: BEFORE };
const FIREWALL = { name: "web", rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const NETWORK = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" };

/** A machine that runs; its installation has another name by now, under which more was made, and its first one is forgotten since. */
async function moved(): Promise<Mayfly> {
  const mayfly = createMayfly({ INSTALLATION: BEFORE });
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "10m" });
  await minutes(mayfly, 1);
  mayfly.configure(NAMED);
  expect((await mayfly.send("POST", "/v1/firewalls", FIREWALL)).status).toBe(201);
  expect((await mayfly.send("POST", "/v1/networks", NETWORK)).status).toBe(201);
  await minutes(mayfly, 1);
  mayfly.configure({ ...MOVED, PREVIOUS_INSTALLATIONS: "" });
  return mayfly;
}
const labelEnd = (mayfly: Mayfly) => Number(servers(mayfly)[0]?.labels?.["mayfly-expires"]) * SECOND;
const changes = (mayfly: Mayfly) => mayfly.simulator.requests().filter(({ method }) => method !== "GET").length;

describe("I2: a machine of an installation that is not named as ours any more", () => {
  it("is renewed in its row alone, and its label follows once that is named", async () => {
    const mayfly = await moved();
    const before = changes(mayfly);
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "1h" })).status).toBe(200);
    await minutes(mayfly, 20);
    expect(changes(mayfly)).toBe(before);
    expect(labelEnd(mayfly)).toBe(NOW + 10 * MINUTE);
    mayfly.configure(NAMED);
    await minutes(mayfly, 20);
    expect(labelEnd(mayfly)).toBe(NOW + 2 * MINUTE + HOUR);
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
  });

  it.each([
    ["a firewall is applied to", "/v1/firewalls/web/apply_to_resources", { machines: ["box"] }],
    ["a firewall is taken off", "/v1/firewalls/web/remove_from_resources", { machines: ["box"] }],
    ["is put into a network", "/v1/machines/box/attach_to_network", { network: "lab" }],
  ])("is none that %s", async (_what, path, body) => {
    const mayfly = await moved();
    const before = changes(mayfly);
    expect(await mayfly.send("POST", path, body)).toMatchObject({ status: 409, body: { code: "identity_mismatch" } });
    expect(changes(mayfly)).toBe(before);
  });

  it("dies on its owner's word once that is named, and not before", async () => {
    const mayfly = await moved();
    const before = changes(mayfly);
    expect(await mayfly.send("DELETE", "/v1/machines/box")).toMatchObject({ body: { code: "identity_mismatch" } });
    await minutes(mayfly, 3);
    expect(changes(mayfly)).toBe(before);
    mayfly.configure(NAMED);
    await minutes(mayfly, 10);
    expect(servers(mayfly)).toEqual([]);
  });
});
