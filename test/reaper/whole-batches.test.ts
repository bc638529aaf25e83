/** What a sweep does in one statement or one list for many, it does for each of them: behind the first, and behind the first page. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { behind, held } from "../behind.ts";
import { BODY, createMayfly, HOUR, MINUTE, minutes, NOW, OURS, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A, KEY_B, ECDSA_KEY } from "../simulator/sample-keys.ts";
import { ago, live, lostRow, put, seconds, UID } from "./lost-rows.ts";

const NAMES = ["a", "b", "c"];
const EMPTY = JSON.stringify({ servers: [], meta: { pagination: { page: 1, next_page: null } } });
const LOCKED = { status: 423, code: "locked", message: "locked", times: 9999 };

/** One column of all rows. */
const column = async (name: string, table = "machines"): Promise<unknown[]> => {
  const { results } = await env.DB.prepare(`SELECT ${name} AS value FROM ${table}`).all();
  return results.map(({ value }) => value);
};
const three = (value: unknown): unknown[] => [value, value, value];
const uidOf = (number: number): string => `9c1d7e60-4b1f-4f3e-8a77-${String(number).padStart(12, "0")}`;

async function fleet(mayfly: Mayfly, more: object = {}): Promise<void> {
  for (const name of NAMES) await put(mayfly, name, more);
  await minutes(mayfly, 1);
}

/** Another label on each machine, as a person may put it there. */
async function relabel(mayfly: Mayfly, more: Record<string, string>): Promise<void> {
  for (const { id, labels } of servers(mayfly))
    await behind(mayfly, "PUT", `/servers/${id}`, { labels: { ...labels, ...more } });
}

describe("of three machines each", () => {
  it("that cannot be destroyed backs off by itself, from its first failure on", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly, { ttl: "2m" });
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", ...LOCKED });
    await minutes(mayfly, 1);
    const first = mayfly.now();
    expect([await column("attempts"), await column("next_try_at")]).toEqual([three(1), three(first + 90_000)]);
    await minutes(mayfly, 2);
    expect([await column("attempts"), await column("next_try_at")]).toEqual([three(2), three(mayfly.now() + 180_000)]);
  });

  it("that has no row and cannot be destroyed backs off likewise, and none is remembered when they are gone", async () => {
    const mayfly = createMayfly();
    for (const name of NAMES) mayfly.simulator.addServer({ name, labels: OURS, created: ago(25 * HOUR) });
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", ...LOCKED });
    for (const [wait, attempts] of [
      [1, 1],
      [3, 2],
      [6, 3],
    ] as const) {
      await minutes(mayfly, wait);
      expect(await column("attempts", "reap_failures")).toEqual(three(attempts));
    }
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 15);
    expect([servers(mayfly), await column("attempts", "reap_failures")]).toEqual([[], []]);
    expect(await column("reason", "events")).toEqual(three("max_age"));
  });

  it("that the inventory lacks is marked, and no longer when it is seen again: then it takes two looks anew", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly);
    const seen = servers(mayfly).map(({ id }) => id);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 9999, status: 200, body: EMPTY });
    await minutes(mayfly, 16);
    const marks = await column("missing_since");
    expect(marks).toEqual(three(marks[0]));
    expect(marks).not.toContain(null);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 16);
    expect(await column("missing_since")).toEqual(three(null));
    for (const id of seen) await behind(mayfly, "DELETE", `/servers/${id}`);
    await minutes(mayfly, 16);
    expect(await column("phase")).toEqual(three("active"));
    await minutes(mayfly, 16);
    expect([await column("phase"), await column("reason")]).toEqual([three("destroyed"), three("lost")]);
  });

  it("that stays as it was is noted as seen every six hours", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly, { ttl: "20h" });
    const before = mayfly.now();
    mayfly.advance(6 * HOUR);
    await minutes(mayfly, 16);
    const [seen] = await column("observed_at");
    expect(await column("observed_at")).toEqual(three(seen));
    expect(seen).toBeGreaterThan(before + 6 * HOUR);
  });

  it("whose label promises more than its row lives as long as that", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly, { ttl: "2h" });
    await relabel(mayfly, { "mayfly-expires": seconds(NOW + 9 * HOUR) });
    await minutes(mayfly, 16);
    expect(await column("expires_at")).toEqual(three(NOW + 9 * HOUR));
  });

  it("that is another by now is marked at the first look and given up at the second", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly);
    await relabel(mayfly, { "mayfly-uid": UID });
    // That they are missing under their own uids is the first look of all.
    await minutes(mayfly, 32);
    expect(await column("mismatched_since")).not.toContain(null);
    await minutes(mayfly, 16);
    expect((await column("phase")).slice(0, 3)).toEqual(three("disowned"));
  });

  it("belongs to the credential in use when all are seen, whichever they were made under", async () => {
    const mayfly = createMayfly();
    for (const name of NAMES) {
      mayfly.configure({ HCLOUD_TOKEN: `token-under-which-${name}-was-made` });
      await put(mayfly, name);
    }
    mayfly.configure({ HCLOUD_TOKEN: "token-that-is-in-use-now" });
    await minutes(mayfly, 16);
    expect(new Set(await column("credential")).size).toBe(1);
    await put(mayfly, "d");
    expect(new Set(await column("credential")).size).toBe(1);
  });

  it("that landed late is destroyed, and an event tells of it", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly);
    const made = servers(mayfly);
    for (const name of NAMES) await mayfly.send("DELETE", `/v1/machines/${name}`);
    mayfly.advance(HOUR);
    for (const { name, labels = null } of made)
      mayfly.simulator.addServer({ name, labels, created: new Date(mayfly.now()).toISOString() });
    await minutes(mayfly, 20);
    expect([servers(mayfly), await column("phase")]).toEqual([[], three("destroyed")]);
    expect(await column("uid", "events WHERE reason = 'late_landing'")).toEqual(await column("uid"));
  });

  it("without a row has one again", async () => {
    const mayfly = createMayfly();
    for (const [index, name] of NAMES.entries()) mayfly.simulator.addServer(lostRow(name, uidOf(index)));
    await minutes(mayfly, 16);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(NAMES);
  });

  it("that has ended is in the ledger", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly);
    for (const name of NAMES) await mayfly.send("DELETE", `/v1/machines/${name}`);
    await minutes(mayfly, 16);
    expect(await column("booked_at")).not.toContain(null);
    expect((await column("hours", "charges")).reduce((sum: number, one) => sum + Number(one), 0)).toBe(3);
  });
});

describe("of three firewalls, networks and keys each", () => {
  const KEYS = [KEY_A, KEY_B, ECDSA_KEY];
  async function made(mayfly: Mayfly): Promise<void> {
    for (const [index, name] of NAMES.entries()) {
      await mayfly.send("POST", "/v1/firewalls", { name, deny_all: true, ttl: "5m" });
      await mayfly.send("POST", "/v1/networks", { name, ip_range: `10.${index}.0.0/16`, region: "fsn1", ttl: "5m" });
      await mayfly.send("POST", "/v1/ssh_keys", { name, public_key: KEYS[index], ttl: "5m" });
    }
  }
  const nine = (value: unknown): unknown[] => Array.from({ length: 9 }, () => value);

  it("is noted as idle at its end and goes a minute later", async () => {
    const mayfly = createMayfly();
    await made(mayfly);
    mayfly.advance(5 * MINUTE);
    await mayfly.tick();
    expect(await column("idle_since", "resources")).toEqual(nine(mayfly.now()));
    await minutes(mayfly, 1);
    expect([held(mayfly), await column("phase", "resources")]).toEqual([[0, 0, 0, 0], nine("deleted")]);
  });

  it("that is still in use is tried again, and each try counts", async () => {
    const mayfly = createMayfly();
    await made(mayfly);
    const used = { status: 422, code: "resource_in_use", message: "in use", times: 9999 };
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/", ...used });
    mayfly.advance(5 * MINUTE);
    await mayfly.tick();
    await minutes(mayfly, 2);
    expect(await column("attempts", "resources")).toEqual(nine(2));
    expect(await column("last_error", "resources")).toEqual(nine("in_use"));
  });

  it("is known by its row when all are looked at, and gets no other", async () => {
    const mayfly = createMayfly();
    for (const [index, name] of NAMES.entries()) {
      await mayfly.send("POST", "/v1/firewalls", { name, deny_all: true, ttl: "9h" });
      await mayfly.send("POST", "/v1/networks", { name, ip_range: `10.${index}.0.0/16`, region: "fsn1", ttl: "9h" });
      await mayfly.send("POST", "/v1/ssh_keys", { name, public_key: KEYS[index], ttl: "9h" });
    }
    await minutes(mayfly, 62);
    expect([held(mayfly), await column("phase", "resources")]).toEqual([[0, 3, 3, 3], nine("active")]);
  });

  it("is used by each machine that it was put on, and by none that it was taken off", async () => {
    const mayfly = createMayfly();
    await fleet(mayfly);
    await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true, ttl: "9h" });
    const act = (what: string) => mayfly.send("POST", `/v1/firewalls/wall/${what}_resources`, { machines: NAMES });
    expect((await act("apply_to")).status).toBe(200);
    expect(await column("machine_uid", "resource_uses")).toHaveLength(3);
    expect((await act("remove_from")).status).toBe(200);
    expect(await column("machine_uid", "resource_uses")).toEqual([]);
  });
});

/** An Ed25519 key of its own for each number. */
function keyOf(number: number): string {
  const bytes = new Uint8Array(51);
  bytes.set([0, 0, 0, 11, ...new TextEncoder().encode("ssh-ed25519"), 0, 0, 0, 32]);
  bytes.set([number >> 8, number & 255], 19);
  return `ssh-ed25519 ${btoa(String.fromCharCode(...bytes))}`;
}

it.each([
  ["firewalls", () => ({})],
  ["networks", () => ({ ip_range: "10.0.0.0/16" })],
  ["ssh_keys", (number: number) => ({ public_key: keyOf(number) })],
] as const)("of 120 forgotten %s, on three pages of the provider's, each goes", async (kind, spec) => {
  const mayfly = createMayfly({ PLAN: "paid" });
  for (let number = 0; number < 120; number++) {
    const labels = {
      ...OURS,
      "mayfly-uid": uidOf(number),
      created: seconds(NOW),
      "mayfly-expires": seconds(NOW + MINUTE),
    };
    await behind(mayfly, "POST", `/${kind}`, { name: `n${number}`, ...spec(number), labels });
  }
  mayfly.advance(HOUR);
  await minutes(mayfly, 8);
  expect(held(mayfly)).toEqual([0, 0, 0, 0]);
});

it("of more machines than the sweep looks at in one list each ends: 120 with a row, and 120 without", async () => {
  const mayfly = createMayfly({ PLAN: "paid" });
  for (let number = 0; number < 120; number++) {
    await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "30m" });
    mayfly.simulator.addServer(
      lostRow(`lost-${number}`, uidOf(number), { "mayfly-expires": seconds(NOW + 30 * MINUTE) }),
    );
  }
  await minutes(mayfly, 16);
  expect(await mayfly.store.inventory.countLive()).toBe(240);
  mayfly.advance(14 * MINUTE);
  await minutes(mayfly, 6);
  expect([servers(mayfly), await mayfly.store.inventory.countLive()]).toEqual([[], 0]);
});
