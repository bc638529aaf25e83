import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, MINUTE, minutes, OURS, servers, type Mayfly } from "../mayfly.ts";

const change = (text: string, ...params: (string | number)[]) =>
  env.DB.prepare(text)
    .bind(...params)
    .run();
const asked = (mayfly: Mayfly) => mayfly.simulator.requests().filter(({ path }) => path === "/v1/server_types").length;
const set = (key: string, value: string) =>
  change("INSERT INTO settings VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2", key, value);

describe("a catalogue that holds nonsense", () => {
  for (const nonsense of ["{}", "[1]", '[{"name": 7}]', '[{"name": "cx23", "regions": 1}]'])
    it(`as ${nonsense} keeps no machine from being made, and is asked for anew`, async () => {
      const mayfly = createMayfly();
      await mayfly.send("GET", "/v1/server_types");
      await change("UPDATE catalogues SET server_types = ?", nonsense);
      expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(201);
      const listed = await mayfly.send("GET", "/v1/server_types");
      expect([listed.status, listed.text]).toEqual([200, expect.stringContaining("cx23")]);
    });

  it("is replaced by a sweep within the hour, and no phase fails over it", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    await change("UPDATE catalogues SET server_types = '{}'");
    mayfly.advance(HOUR);
    const reports = [await mayfly.tick()];
    mayfly.advance(MINUTE);
    reports.push(await mayfly.tick());
    expect(reports.flatMap((one) => one?.phases.flatMap(({ failure }) => failure ?? []))).toEqual([]);
    expect((await mayfly.store.catalogues.read("hetzner"))?.serverTypes.length).toBeGreaterThan(0);
  });

  it("as a time that lies hours ahead is asked for again", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    await change("UPDATE catalogues SET fetched_at = ?", mayfly.now() + 9 * HOUR);
    const before = asked(mayfly);
    await mayfly.send("GET", "/v1/server_types");
    expect(asked(mayfly)).toBeGreaterThan(before);
  });
});

describe("reports of sweeps", () => {
  it("that hold nonsense hide none of the others", async () => {
    const mayfly = createMayfly();
    for (let count = 0; count < 3; count++) {
      mayfly.advance(HOUR);
      await mayfly.tick();
    }
    await change("UPDATE sweeps SET report = '[1]' WHERE id = (SELECT max(id) FROM sweeps)");
    const { status, body } = await mayfly.send("GET", "/v1/sweeps");
    expect([status, body]).toMatchObject([200, { sweeps: [{}, { outcome: "ok" }, { outcome: "ok" }] }]);
  });

  it("are written again an hour later at most though the last one lies ahead", async () => {
    const mayfly = createMayfly();
    await change("UPDATE locks SET last_report_at = ?", mayfly.now() + 99 * HOUR);
    await minutes(mayfly, 2);
    expect((await mayfly.store.sweeps.list(1, 9)).rows).toHaveLength(1);
  });
});

describe("a word on what is held that holds nonsense", () => {
  it("releases nothing and holds nothing for good", async () => {
    const mayfly = createMayfly();
    for (const key of ["blast_cap_released_until", "blast_cap_held_until"])
      for (const value of ["", "soon", "Infinity", String(mayfly.now() + 9999 * HOUR)]) {
        await set("blast_cap_released_until", "0");
        await set("blast_cap_held_until", "0");
        await set(key, value);
        expect(await mayfly.store.settings.blastCap(mayfly.now()), `${key} = ${value}`).toEqual({
          releasedUntil: 0,
          heldUntil: 0,
        });
      }
    for (const value of ["soon", String(mayfly.now() + 9999 * HOUR)]) {
      await set("inventory_released_until", value);
      expect(await mayfly.store.settings.inventoryReleasedUntil(mayfly.now())).toBe(0);
    }
  });
});

describe("an installation that is deleted from the database", () => {
  it("is the one of the settings from the next create on, and what lives goes on", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "60s" });
    await change("DELETE FROM settings");
    expect((await mayfly.send("GET", "/healthz", undefined, null)).status).toBe(200);
    expect((await mayfly.send("PUT", "/v1/machines/new", BODY)).status).toBe(201);
    expect(await mayfly.store.settings.installation()).toBe(OURS["mayfly-installation"]);
    await minutes(mayfly, 2);
    expect(servers(mayfly).map(({ name }) => name.replace(/-.*/, ""))).toEqual(["new"]);
  });
});
