import { describe, expect, it } from "vitest";
import { slow } from "../behind.ts";
import {
  LOCAL,
  BODY,
  createMayfly,
  machineIn,
  MINUTE,
  minutes,
  NOW,
  OURS,
  refusing,
  SECOND,
  HOUR,
  type Mayfly,
  servers,
} from "../mayfly.ts";

const put = (mayfly: Mayfly, name: string) => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "60s" });

describe("the lock", () => {
  it("P77: is renewed by a sweep that takes long, so that no other starts beside it", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 10; number++) await put(mayfly, `m${number}`);
    mayfly.advance(2 * MINUTE);
    const others: unknown[] = [];
    slow(mayfly, 20 * SECOND, async (call) => {
      if (call % 3 === 0)
        others.push(await mayfly.store.lock.acquire("other", mayfly.now(), mayfly.now() + 90 * SECOND));
    });
    const report = await mayfly.tick();
    expect(new Set(report?.phases[0]?.items.map(({ outcome }) => outcome))).toEqual(new Set(["accepted", "remaining"]));
    expect(others.length).toBeGreaterThan(0);
    await minutes(mayfly, 20);
    expect(others.every((lock) => lock === null)).toBe(true);
    expect(servers(mayfly)).toEqual([]);
  });

  it("P77: is free again within two minutes though every DELETE hangs, and the rest says that the time was up", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 10; number++) await put(mayfly, `m${number}`);
    mayfly.advance(2 * MINUTE);
    const { simulator } = mayfly;
    const fetch = simulator.fetch.bind(simulator);
    simulator.fetch = async (request) => {
      if (request.method !== "DELETE") return fetch(request);
      mayfly.advance(30 * SECOND);
      throw new DOMException("no answer", "TimeoutError");
    };
    const began = mayfly.now();
    const report = await mayfly.tick();
    expect(mayfly.now() - began).toBeLessThanOrEqual(90 * SECOND);
    expect(report?.phases[0]?.items.map(({ reason }) => reason)).toContain("time");
    expect(report?.phases[0]?.whyRemaining).toBe("time");
    simulator.fetch = fetch;
    await minutes(mayfly, 5);
    expect(servers(mayfly)).toEqual([]);
  });

  it("fences an overtaken sweep: it stops, its writes change nothing, and the other's lock stays", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 10; number++) await put(mayfly, `m${number}`);
    mayfly.advance(2 * MINUTE);
    let taken: { fence: number } | null = null;
    slow(mayfly, SECOND, async (call) => {
      if (call !== 4) return;
      mayfly.advance(200 * SECOND);
      taken = await mayfly.store.lock.acquire("other", mayfly.now(), mayfly.now() + 90 * SECOND);
    });
    const report = await mayfly.tick();
    expect(taken).not.toBeNull();
    const outcomes = report?.phases[0]?.items.map(({ outcome }) => outcome) ?? [];
    expect(outcomes.filter((outcome) => outcome === "remaining").length).toBeGreaterThan(4);
    const reasons = report?.phases[0]?.items.flatMap(({ outcome, reason }) =>
      outcome === "remaining" ? [reason] : [],
    );
    expect(new Set(reasons)).toEqual(new Set(["lock_lost"]));
    expect(report?.phases[0]?.whyRemaining).toBe("lock_lost");
    // Three died before it was overtaken; that their rows are closed is up to whoever holds the lock now.
    expect(servers(mayfly).length).toBeGreaterThan(4);
    expect(await mayfly.store.machines.byName("admin", "m0")).toMatchObject({
      status: "deleting",
      deleteAcceptedAt: null,
    });
    expect(await mayfly.tick()).toBeNull();

    mayfly.advance(90 * SECOND);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    for (let number = 0; number < 10; number++)
      expect(machineIn(await mayfly.send("GET", `/v1/machines/m${number}`))).toMatchObject({
        status: "destroyed",
        reason: "expired",
      });
    const deletes = mayfly.simulator.requests().filter(({ method }) => method === "DELETE");
    expect(new Set(deletes.map(({ path }) => path)).size).toBe(deletes.length);
  });

  it("of a sweep that was cut off at any of its calls is taken over after 90 s, and nothing is lost or destroyed twice", async () => {
    for (let cut = 1; cut <= 8; cut++) {
      const mayfly = createMayfly();
      for (let number = 0; number < 4; number++) await put(mayfly, `m${number}`);
      mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: new Date(NOW - 25 * HOUR).toISOString() });
      mayfly.advance(2 * MINUTE);
      const { simulator } = mayfly;
      const fetch = simulator.fetch.bind(simulator);
      let calls = 0;
      let dead = () => {};
      const died = new Promise<void>((resolve) => (dead = resolve));
      // An invocation that the platform ends: no answer comes any more, and no catch or finally runs. What is sent takes effect.
      const never = new Promise<Response>(() => {});
      simulator.fetch = async (request) => {
        const call = ++calls;
        if (call > cut) return never;
        const response = await fetch(request);
        if (call === cut) dead();
        return calls < cut ? response : never;
      };
      await Promise.race([mayfly.tick(), died]);
      simulator.fetch = fetch;
      expect(calls).toBeGreaterThanOrEqual(cut);
      expect(await mayfly.tick()).toBeNull();
      mayfly.advance(90 * SECOND);
      await mayfly.tick();
      expect(servers(mayfly), `cut at call ${cut}`).toEqual([]);
      const { rows } = await mayfly.store.machines.list({ owner: null, statuses: [], labels: [], page: 1, perPage: 9 });
      expect(rows).toEqual([]);
      const deletes = simulator.requests().filter(({ method, status }) => method === "DELETE" && status === 200);
      expect(deletes).toHaveLength(5);
      const { DB } = mayfly.bindings;
      await DB.batch([DB.prepare("DELETE FROM machines"), DB.prepare("UPDATE locks SET held_until = 0")]);
    }
  });
});

describe("a tick whose time lies ahead of the clock", () => {
  const DAY = 24 * HOUR;

  it("by three days concludes nothing, kills nobody, and is an alert", async () => {
    const mayfly = createMayfly({ HCLOUD_ENDPOINT: "" });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "20h" });
    await mayfly.tick();
    for (let ticks = 0; ticks < 5; ticks++) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick(mayfly.now() + 3 * DAY);
      expect(report?.phases.map(({ failure }) => failure)).toEqual(
        Array(6).fill("the tick's time lies 4320 min ahead of the clock; nothing is concluded from it"),
      );
    }
    expect(servers(mayfly)).toHaveLength(1);
    expect((await mayfly.send("GET", "/healthz")).status).toBe(503);
    expect((await mayfly.send("GET", "/v1/sweeps")).text).toContain("ahead of the clock");
  });

  it("concludes nothing without D1 either", async () => {
    const mayfly = createMayfly({ HCLOUD_ENDPOINT: "" });
    mayfly.simulator.addServer({ name: "box", labels: OURS, created: new Date(NOW - HOUR).toISOString() });
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /./) });
    await mayfly.tick(mayfly.now() + 3 * DAY);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("by moments is believed, and so is any where a simulator on this machine stands in for the provider", async () => {
    for (const [settings, ahead] of [
      [{ HCLOUD_ENDPOINT: "" }, 5 * MINUTE],
      [LOCAL, 3 * DAY],
    ] as const) {
      const mayfly = createMayfly(settings);
      await put(mayfly, "box");
      await mayfly.tick(mayfly.now() + ahead);
      expect(servers(mayfly)).toEqual([]);
    }
  });
});

describe("identity_mismatch", () => {
  it("is an alert at the first look, and at the second the row is disowned and its name is free; the machine is left alone", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    const [server] = servers(mayfly);
    await mayfly.simulator.fetch(
      new Request(`http://sim/v1/servers/${server?.id}`, {
        method: "PUT",
        headers: { Authorization: "Bearer x" },
        body: JSON.stringify({ labels: { kept: "by-hand" } }),
      }),
    );
    mayfly.advance(2 * MINUTE);
    const first = await mayfly.tick();
    expect(first?.phases[0]?.items).toMatchObject([{ outcome: "alert", reason: "identity_mismatch" }]);
    expect((await mayfly.tick())?.phases[0]?.items).toEqual([]);
    mayfly.advance(2 * MINUTE);
    const second = await mayfly.tick();
    expect(second?.phases[0]?.items).toMatchObject([{ outcome: "alert", reason: "identity_mismatch" }]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "unknown",
      reason: "identity_mismatch",
    });
    for (let ticks = 0; ticks < 5; ticks++) {
      mayfly.advance(24 * HOUR);
      await mayfly.tick();
    }
    expect(servers(mayfly)).toHaveLength(1);
  });
});
