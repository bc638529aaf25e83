import { describe, expect, it } from "vitest";
import { behind, leave } from "../behind.ts";
import { createMayfly, HOUR, machineIn, minutes, MINUTE, NOW, servers, type Mayfly } from "../mayfly.ts";
import { ago, live, lostRow, put, reconciled, seconds, UID } from "./lost-rows.ts";

const names = (mayfly: Mayfly) => servers(mayfly).map(({ name }) => name);
const deleteBehind = (mayfly: Mayfly, id: string | null) => behind(mayfly, "DELETE", `/servers/${id}`);

describe("a machine without a row", () => {
  it("case 3, I5, P61, P79, X17: is adopted with its labels' owner, name and lease, and ends by that", async () => {
    const mayfly = createMayfly();
    const { id } = mayfly.simulator.addServer(lostRow("box", UID));
    expect(await reconciled(mayfly, 16)).toContain("settled adopted");
    const [adopted] = await live(mayfly);
    expect(adopted).toMatchObject({
      id: `mch_${UID}`,
      name: "box",
      owner: "tok.alice",
      provider_id: String(id),
      status: "running",
      labels: { team: "red" },
      expires_at: new Date(NOW + 2 * HOUR).toISOString(),
      max_until: new Date(NOW + 23 * HOUR).toISOString(),
    });
    await minutes(mayfly, 103);
    expect(names(mayfly)).toHaveLength(1);
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual([]);
  });

  it("I4: whose end has passed still lives a quarter of an hour, in which its owner may renew it", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    for (const [name, uid] of [
      ["a", UID],
      ["b", UID.replace("9", "8")],
    ] as const)
      mayfly.simulator.addServer(lostRow(name, uid, { "mayfly-expires": seconds(NOW) }));
    await minutes(mayfly, 15);
    expect((await mayfly.send("POST", "/v1/machines/a/renew", { ttl: "2h" }, alice)).status).toBe(200);
    await minutes(mayfly, 14);
    expect(servers(mayfly)).toHaveLength(2);
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual(["a-abcdefghijklm"]);
  });

  it("P62, P63, P78: that is younger than GRACE is left alone: its create may be in flight", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer({ ...lostRow("box", UID), created: ago(-6 * MINUTE) });
    expect(await reconciled(mayfly, 16)).toEqual([]);
    expect(await live(mayfly)).toEqual([]);
    expect(await reconciled(mayfly, 15)).toContain("settled adopted");
  });

  it("P64, X1, X2: of unknown age is reported and begins to age now; it is not old", async () => {
    const mayfly = createMayfly();
    const odd = (name: string, uid: string, created: string) => ({
      ...lostRow(name, uid, { created, "mayfly-expires": "", "mayfly-max": "" }),
      created: null,
    });
    mayfly.simulator.addServer(odd("zero", UID, "0"));
    mayfly.simulator.addServer(odd("late", UID.replace("9", "8"), String(NOW)));
    mayfly.simulator.addServer(odd("none", UID.replace("9", "7"), "x"));
    expect((await reconciled(mayfly, 16)).filter((one) => one === "unknown_age unknown_age")).toHaveLength(3);
    expect(await live(mayfly)).toHaveLength(3);
    mayfly.advance(23 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(3);
    mayfly.advance(HOUR);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
  });

  it("P65: without a uid is nobody's: never adopted, reported, and gone at MAX_AGE", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer({ ...lostRow("box", "", { "mayfly-expires": "", "mayfly-max": "" }) });
    expect(await reconciled(mayfly, 20)).toEqual(["alert unattributed"]);
    expect(await live(mayfly)).toEqual([]);
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.advance(23 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
  });

  it("P75, X24: of another installation, or without our labels, is never touched", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer(lostRow("sibling", UID, { "mayfly-installation": "another" }, 30 * HOUR));
    mayfly.simulator.addServer({ name: "hand-made", created: ago(30 * HOUR) });
    const before = JSON.stringify(servers(mayfly).map(({ labels, name }) => [labels, name]));
    await minutes(mayfly, 40);
    expect(JSON.stringify(servers(mayfly).map(({ labels, name }) => [labels, name]))).toBe(before);
    expect(await live(mayfly)).toEqual([]);
  });

  it("P60, P67: that is created while the inventory is read has its row by then", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    expect((await reconciled(mayfly, 31)).filter((one) => !one.startsWith("kept"))).toEqual([]);
    expect(await live(mayfly)).toHaveLength(1);
  });

  it("P69: whose uid has another row gets one of its own, is told of, and both live to their ends", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, "box"));
    const labels = { ...servers(mayfly)[0]?.labels, "mayfly-expires": seconds(NOW + HOUR) };
    mayfly.simulator.addServer({ name: "copy", created: ago(-60_000), labels });
    const said = await reconciled(mayfly, 16);
    expect(said).toContain("alert duplicate");
    expect(said).toContain("settled adopted");
    const both = await live(mayfly);
    expect(both.map(({ name }) => name)).toContain("box");
    expect(new Set(both.map(({ id }) => id)).size).toBe(2);
    await minutes(mayfly, 47);
    expect(names(mayfly)).toEqual([expect.stringMatching(/^box-/)]);
    expect(machineIn(await mayfly.send("GET", `/v1/machines/${first.id}`)).status).toBe("running");
  });

  it("P70, late_landing: whose row its owner has ended dies, within the blast cap", async () => {
    const mayfly = createMayfly();
    const { id } = machineIn(await put(mayfly, "box"));
    expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(200);
    mayfly.simulator.addServer(lostRow("box", id.slice(4), {}, 0));
    await minutes(mayfly, 17);
    expect(servers(mayfly)).toEqual([]);
  });

  it("that says it was created in 2090 is of unknown age: it is reported, begins to age now, and ends", async () => {
    const mayfly = createMayfly();
    const server = lostRow("box", UID, {
      "mayfly-expires": seconds(NOW - HOUR),
      created: seconds(Date.UTC(2090, 0, 1)),
    });
    mayfly.simulator.addServer({ ...server, created: "2090-01-01T00:00:00Z" });
    expect(await reconciled(mayfly, 20)).toContain("unknown_age unknown_age");
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
  });

  describe("reappeared: whose row was closed only because nobody saw it", () => {
    /** A create of which no answer came, and whose row is closed by the time that its machine is there. */
    async function givenUp(ttl = "2h") {
      const mayfly = createMayfly();
      mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before", times: 30 });
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers", status: 503, times: 30 });
      await put(mayfly, "box", { ttl });
      const [row] = await live(mayfly);
      mayfly.simulator.clearFaults();
      await minutes(mayfly, 20);
      expect(await live(mayfly)).toEqual([]);
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).reason).toBe("never_seen");
      return { mayfly, id: row?.id ?? "", uid: row?.id.slice(4) ?? "" };
    }

    it("has that row again, under the lease that it and its labels tell, and its owner's name and calls reach it", async () => {
      const { mayfly, id, uid } = await givenUp();
      const { id: serverId } = mayfly.simulator.addServer(lostRow("box", uid, { "mayfly-owner": "admin" }, 0));
      expect(await reconciled(mayfly, 17)).toContain("settled adopted");
      expect(await live(mayfly)).toMatchObject([
        {
          id,
          name: "box",
          reason: null,
          destroyed_at: null,
          provider_id: String(serverId),
          expires_at: new Date(NOW + 2 * HOUR).toISOString(),
        },
      ]);
      expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" })).status).toBe(200);
      expect((await put(mayfly, "box")).status).toBe(200);
      expect(servers(mayfly)).toHaveLength(1);
    });

    it("has that row again whatever other owners have, or have forbidden, under its name", async () => {
      const { mayfly, id, uid } = await givenUp();
      const [bob, carol] = [await mayfly.tokenOf("bob"), await mayfly.tokenOf("carol")];
      await put(mayfly, "box", {}, bob);
      expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d", undefined, carol)).status).toBe(204);
      mayfly.simulator.addServer(lostRow("box", uid, { "mayfly-owner": "admin" }, 0));
      expect(await reconciled(mayfly, 17)).toContain("settled adopted");
      expect((await live(mayfly)).filter(({ owner }) => owner === "admin")).toMatchObject([{ id, name: "box" }]);
    });

    it("is what a repeat of its create answers, at once; another spec is spec_mismatch", async () => {
      const { mayfly, id, uid } = await givenUp();
      const name = (await mayfly.store.machines.byUid(uid))?.providerName ?? "";
      mayfly.simulator.addServer({ ...lostRow("box", uid, { "mayfly-owner": "admin" }, 0), name });
      expect(await mayfly.send("PUT", "/v1/machines/box", { server_type: "cx33", region: "fsn1" })).toMatchObject({
        status: 409,
        body: { code: "spec_mismatch", fields: ["server_type"] },
      });
      const again = await put(mayfly, "box");
      expect([again.status, machineIn(again).id]).toEqual([200, id]);
      expect(servers(mayfly)).toHaveLength(1);
      expect(await live(mayfly)).toMatchObject([{ id, name: "box" }]);
    });

    it.each([
      ["DELETE of its name", "DELETE", "/v1/machines/box"],
      ["DELETE of its labels", "DELETE", "/v1/machines?label_selector=team%3Dred"],
      ["tear-down", "POST", "/v1/teardown", {}],
    ])("dies where its owner's word came after its row was closed: %s", async (_, method, path, body?: object) => {
      const mayfly = createMayfly();
      await put(mayfly, "box", { labels: { team: "red" } });
      await minutes(mayfly, 2);
      const [server] = servers(mayfly);
      await deleteBehind(mayfly, String(server?.id));
      await minutes(mayfly, 33);
      expect(await live(mayfly)).toEqual([]);
      expect((await mayfly.send(method, path, body)).status).toBeLessThan(300);
      const { name = "", created = "", labels = {} } = server ?? {};
      mayfly.simulator.addServer({ name, created, labels: labels ?? {} });
      await minutes(mayfly, 20);
      expect(servers(mayfly)).toEqual([]);
    });

    it("beside another one of its name, both lost: one has the name again, the other a row of its own, and the pass goes on", async () => {
      const mayfly = createMayfly();
      const seen = [];
      for (let round = 0; round < 2; round++) {
        await put(mayfly, "box");
        await minutes(mayfly, 2);
        const [server] = servers(mayfly);
        seen.push(server);
        await deleteBehind(mayfly, String(server?.id));
        await minutes(mayfly, 35);
      }
      for (const [number, server] of seen.entries())
        mayfly.simulator.addServer({
          name: `renamed${number}`,
          created: server?.created ?? "",
          labels: server?.labels ?? {},
        });
      await minutes(mayfly, 40);
      const both = await live(mayfly);
      expect(both).toHaveLength(2);
      expect(both.filter(({ name }) => name === "box")).toHaveLength(1);
    });

    it("under a uid of its own is had by its name again once that is free, and is not said to be going", async () => {
      const { mayfly, uid } = await givenUp("20h");
      const name = (await mayfly.store.machines.byUid(uid))?.providerName ?? "";
      const { id } = mayfly.simulator.addServer({
        ...lostRow("box", uid, { "mayfly-owner": "admin", "mayfly-expires": seconds(NOW + 19 * HOUR) }, 0),
        name,
      });
      // Another row has the name while the machine is found again.
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503, times: 1 });
      mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 503, times: 1 });
      await put(mayfly, "box");
      await minutes(mayfly, 50);
      const again = await put(mayfly, "box", { ttl: "5h" });
      expect(again.text).not.toContain("still being destroyed");
      expect(servers(mayfly).map((one) => one.id)).toEqual([id]);
    });

    it("has a row of its own where its name is another's by now, and both live to their ends", async () => {
      const { mayfly, id, uid } = await givenUp();
      mayfly.simulator.addServer(lostRow("box", uid, { "mayfly-owner": "admin" }, 0));
      const second = machineIn(
        await mayfly.send("PUT", "/v1/machines/box", { server_type: "cx33", region: "fsn1", ttl: "5h" }),
      );
      expect(await reconciled(mayfly, 17)).toContain("settled adopted");
      const both = await live(mayfly);
      expect(both).toHaveLength(2);
      expect(both.map((one) => one.id)).toContain(second.id);
      expect(both.map((one) => one.id)).not.toContain(id);
      await minutes(mayfly, 60);
      expect(servers(mayfly)).toHaveLength(2);
      await minutes(mayfly, 30);
      expect(await live(mayfly)).toMatchObject([{ id: second.id }]);
    });

    it("dies as expired once its promised end has passed, and never for having landed late", async () => {
      const { mayfly, uid } = await givenUp("10m");
      mayfly.simulator.addServer(lostRow("box", uid, { "mayfly-expires": seconds(NOW + 10 * MINUTE) }, 0));
      expect(await reconciled(mayfly, 17)).toContain("destroyed expired");
      expect(servers(mayfly)).toEqual([]);
    });

    it("is judged as one without a row where no end can be read", async () => {
      const { mayfly, uid } = await givenUp();
      mayfly.simulator.addServer(lostRow("box", uid, { "mayfly-expires": "soon" }, 0));
      expect(await reconciled(mayfly, 31)).toContain("settled adopted");
      expect(servers(mayfly)).toHaveLength(1);
    });

    it("likewise a lost one that is seen again", async () => {
      const mayfly = createMayfly();
      const { id } = machineIn(await put(mayfly, "box"));
      await minutes(mayfly, 2);
      const [server] = servers(mayfly);
      await deleteBehind(mayfly, String(server?.id));
      await minutes(mayfly, 33);
      expect(await live(mayfly)).toEqual([]);
      mayfly.simulator.addServer({
        name: server?.name ?? "",
        created: server?.created ?? "",
        labels: server?.labels ?? {},
      });
      await minutes(mayfly, 17);
      expect(await live(mayfly)).toMatchObject([{ id, name: "box" }]);
    });

    it("keeps the later end that its row promised, where its label could not be written before it was given up", async () => {
      const mayfly = createMayfly();
      const { id } = machineIn(await put(mayfly, "box", { ttl: "20m" }));
      await minutes(mayfly, 2);
      const [server] = servers(mayfly);
      // Nobody is shown it any more, and its label is not written.
      await deleteBehind(mayfly, String(server?.id));
      expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" })).status).toBe(200);
      await minutes(mayfly, 33);
      expect(await live(mayfly)).toEqual([]);
      mayfly.simulator.addServer({
        name: server?.name ?? "",
        created: server?.created ?? "",
        labels: server?.labels ?? {},
      });
      expect(await reconciled(mayfly, 17)).toContain("settled adopted");
      const end = NOW + 2 * MINUTE + 3 * HOUR;
      expect(await live(mayfly)).toMatchObject([{ id, expires_at: new Date(end).toISOString() }]);
      expect(servers(mayfly)[0]?.labels?.["mayfly-expires"]).toBe(seconds(end));
    });

    it("likewise one that was gone at its row's end, while its label tells a later one", async () => {
      const mayfly = createMayfly();
      const { id } = machineIn(await put(mayfly, "box", { ttl: "10m" }));
      await minutes(mayfly, 2);
      const [server] = servers(mayfly);
      await deleteBehind(mayfly, String(server?.id));
      await minutes(mayfly, 9);
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).reason).toBe("gone");
      const later = { "mayfly-expires": seconds(NOW + 2 * HOUR) };
      mayfly.simulator.addServer({
        name: server?.name ?? "",
        created: server?.created ?? "",
        labels: { ...server?.labels, ...later },
      });
      expect(await reconciled(mayfly, 17)).toContain("settled adopted");
      expect(await live(mayfly)).toMatchObject([{ id, expires_at: new Date(NOW + 2 * HOUR).toISOString() }]);
    });

    it("is kept by reap, which adopts nothing", async () => {
      const { mayfly, uid } = await givenUp();
      const label = { "mayfly-expires": seconds(NOW + 30 * HOUR), "mayfly-max": seconds(NOW + 60 * HOUR) };
      mayfly.simulator.addServer(lostRow("box", uid, label, 25 * HOUR));
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.phases[1]?.items).toMatchObject([{ outcome: "kept", reason: "reappeared" }]);
      expect(servers(mayfly)).toHaveLength(1);
    });
  });

  it("while rows exist and younger than the first sweep is adopted, and somebody is told that the installation is shared", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await mayfly.tick();
    mayfly.simulator.addServer({ ...lostRow("other", UID), created: ago(-2 * MINUTE) });
    const said = await reconciled(mayfly, 31);
    expect(said).toContain("settled adopted");
    expect(said).toContain("alert installation_shared");
  });
});

it("P68: a machine that is being destroyed has a row: it is neither adopted again nor lost", async () => {
  const mayfly = createMayfly();
  await put(mayfly, "box");
  mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: 1000 });
  expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(202);
  expect(await reconciled(mayfly, 33)).toEqual([]);
  expect(await live(mayfly)).toMatchObject([{ name: "box", status: "deleting" }]);
  mayfly.simulator.clearFaults();
  await minutes(mayfly, 16);
  expect(servers(mayfly)).toEqual([]);
});

describe("a row without a machine", () => {
  it("case 10, P42, P71: is lost after two looks, the second by id, and its name is free", async () => {
    const mayfly = createMayfly();
    const { provider_id } = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 2);
    await deleteBehind(mayfly, provider_id);
    expect(await reconciled(mayfly, 16)).toContain("kept not_seen");
    expect(await live(mayfly)).toHaveLength(1);
    expect(await reconciled(mayfly, 16)).toContain("settled lost");
    expect(await live(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "lost",
    });
    expect((await put(mayfly, "box")).status).toBe(201);
  });

  it("case 8, I4: is not lost because a list hides it", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 1000, status: 200, body: EMPTY });
    await minutes(mayfly, 60);
    mayfly.simulator.clearFaults();
    expect(await live(mayfly)).toHaveLength(1);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("case 8, case 21, P66, X21: a failing, partial or refused inventory concludes nothing", async () => {
    for (const fault of [
      { status: 503 },
      { status: 401, code: "unauthorized", message: "no" },
      { status: 429 },
      { drop: "before" as const },
    ]) {
      const mayfly = createMayfly();
      await put(mayfly, `box-${JSON.stringify(fault).length}`);
      await minutes(mayfly, 2);
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers", times: 1000, ...fault });
      await minutes(mayfly, 40);
      expect(await live(mayfly)).toHaveLength(1);
      await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    }
  });

  it("more than max(3, 20 %) newly absent at once is doubted: nothing is concluded, and health is red until that has passed", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 5; number++) await put(mayfly, `m${number}`);
    await minutes(mayfly, 2);
    const gone = servers(mayfly).slice(0, 4);
    for (const { id } of gone) await deleteBehind(mayfly, String(id));
    expect(await reconciled(mayfly, 45)).toContain("alert inventory_untrusted");
    expect(await live(mayfly)).toHaveLength(5);
    mayfly.configure({});
    await mayfly.bindings.DB.prepare("UPDATE locks SET last_good_cron_at = ?").bind(mayfly.now()).run();
    const red = await mayfly.send("GET", "/healthz", undefined, null);
    expect([red.status, red.text]).toEqual([503, expect.stringContaining("more machines at once")]);
  });

  it("of another credential is not lost, nor closed at its end, until one of them is seen under the new one", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b"]) await put(mayfly, name, { ttl: "1h" });
    await minutes(mayfly, 2);
    const [a] = servers(mayfly);
    await deleteBehind(mayfly, String(a?.id));
    mayfly.configure({ HCLOUD_TOKEN: "another-token" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 1000, status: 200, body: EMPTY });
    mayfly.simulator.fault({
      method: "GET",
      path: "^/v1/servers/",
      times: 1000,
      status: 404,
      code: "not_found",
      message: "server not found",
    });
    expect(await reconciled(mayfly, 50)).toContain("alert other_credential");
    await minutes(mayfly, 15);
    expect(await live(mayfly)).toHaveLength(2);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 40);
    expect([await live(mayfly), servers(mayfly)]).toEqual([[], []]);
  });

  it("of another credential is given up on an admin's word", async () => {
    const mayfly = createMayfly();
    const { provider_id } = machineIn(await put(mayfly, "a", { ttl: "10m" }));
    await deleteBehind(mayfly, provider_id);
    mayfly.configure({ HCLOUD_TOKEN: "another-token" });
    await minutes(mayfly, 40);
    expect(await live(mayfly)).toHaveLength(1);
    expect(
      (await mayfly.send("POST", "/v1/holds/credential/release", undefined, await mayfly.tokenOf("bob"))).status,
    ).toBe(403);
    expect((await mayfly.send("POST", "/v1/holds/credential/release")).status).toBe(200);
    await minutes(mayfly, 16);
    expect(await live(mayfly)).toEqual([]);
  });

  it("each doubt is released by itself: believing that many are missing gives up no row of another project", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 6; number++) await put(mayfly, `m${number}`, { ttl: "20h" });
    await minutes(mayfly, 2);
    mayfly.configure({ HCLOUD_TOKEN: "another-project" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 9999, status: 200, body: EMPTY });
    const gone = { status: 404, code: "not_found", message: "server not found" };
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/", times: 9999, ...gone });
    const health = async () => {
      await mayfly.bindings.DB.prepare("UPDATE locks SET last_good_cron_at = ?").bind(mayfly.now()).run();
      return (await mayfly.send("GET", "/healthz", undefined, null)).text;
    };
    await minutes(mayfly, 40);
    expect((await mayfly.send("POST", "/v1/holds/inventory/release")).status).toBe(200);
    await minutes(mayfly, 40);
    expect(await live(mayfly)).toHaveLength(6);
    expect(await health()).toContain("another token");

    expect((await mayfly.send("POST", "/v1/holds/credential/release")).status).toBe(200);
    await minutes(mayfly, 40);
    expect(await live(mayfly)).toHaveLength(6);
    expect(await health()).toContain("more machines at once");
    expect(await health()).not.toContain("another token");
    expect((await mayfly.send("POST", "/v1/holds/inventory/release")).status).toBe(200);
    await minutes(mayfly, 40);
    expect(await live(mayfly)).toEqual([]);
  });

  it("I2: whose machine is another by now is given up after two looks, and the machine left alone", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    const [server] = servers(mayfly);
    await behind(mayfly, "PUT", `/servers/${server?.id}`, { labels: {} });
    await minutes(mayfly, 64);
    expect(servers(mayfly)).toHaveLength(1);
    expect(await live(mayfly)).toEqual([]);
  });
});

it("case 35: two hundred machines cost less than a quarter of the provider's calls an hour", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 200; number++) {
    const uid = `9c1d7e60-4b1f-4f3e-8a77-${String(number).padStart(12, "0")}`;
    mayfly.simulator.addServer(lostRow(`m${number}`, uid, { "mayfly-expires": seconds(NOW + 20 * HOUR) }));
  }
  await minutes(mayfly, 16);
  expect(await live(mayfly)).toHaveLength(25);
  const before = mayfly.simulator.requests().length;
  await minutes(mayfly, 60);
  expect(mayfly.simulator.requests().length - before).toBeLessThan(3600 / 4);
});

it("what is left of the provider's rate limit is for deletes: everything else waits", async () => {
  const mayfly = createMayfly();
  await put(mayfly, "due", { ttl: "5m" });
  mayfly.simulator.addServer(lostRow("rowless", UID));
  leave(mayfly, 100);
  await minutes(mayfly, 40);
  const left = (await mayfly.tick())?.phases.flatMap(({ phase, whyRemaining: why }) => (why ? [[phase, why]] : []));
  expect(left).toEqual([["reconcile", "rate_limit"]]);
  expect(names(mayfly)).toEqual(["rowless-abcdefghijklm"]);
  expect(await live(mayfly)).toEqual([]);
  leave(mayfly, 3000);
  await minutes(mayfly, 2);
  expect(await live(mayfly)).toMatchObject([{ name: "rowless" }]);
});

it("X16, X22: passes over ten thousand machines in slices within what a free plan allows: each has its row in the end, none is lost", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 10_000; number++) {
    const uid = `9c1d7e60-4b1f-4f3e-8a77-${String(number).padStart(12, "0")}`;
    mayfly.simulator.addServer(lostRow(`m${number}`, uid, { "mayfly-expires": seconds(NOW + 20 * HOUR) }));
  }
  const { DB } = mayfly.bindings;
  const count = async () =>
    (await DB.prepare("SELECT count(*) AS n FROM machines WHERE phase = 'active'").first("n")) ?? 0;
  let slices = 0;
  for (let tick = 0; tick < 225; tick++) {
    mayfly.advance(MINUTE);
    const report = await mayfly.tick();
    expect(report?.fetches).toBeLessThanOrEqual(40);
    expect(report?.statements).toBeLessThanOrEqual(40);
    slices = Math.max(slices, report?.fetches ?? 0);
  }
  // Three of them once an hour, for the catalogue.
  expect(slices).toBeLessThanOrEqual(8);
  expect(await count()).toBe(10_000);
  expect(servers(mayfly)).toHaveLength(10_000);
}, 180_000);

const EMPTY = JSON.stringify({
  servers: [],
  meta: { pagination: { page: 1, per_page: 50, previous_page: null, next_page: null, last_page: 1, total_entries: 0 } },
});
