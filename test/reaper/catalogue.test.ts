import { describe, expect, it } from "vitest";
import { leave } from "../behind.ts";
import { createMayfly, HOUR, MINUTE, minutes, refusing, type Mayfly } from "../mayfly.ts";

const asked = (mayfly: Mayfly) =>
  mayfly.simulator.requests().filter(({ path }) => path === "/v1/server_types" || path === "/v1/pricing").length;
const fetchedAt = async (mayfly: Mayfly) => (await mayfly.store.catalogues.read("hetzner"))?.fetchedAt ?? null;
const failures = (report: Awaited<ReturnType<Mayfly["tick"]>>) =>
  report?.phases.flatMap(({ phase, failure }) => (failure === null ? [] : [`${phase}: ${failure}`]));
const DOWN = { method: "GET", path: "server_types", status: 503, code: "unavailable", message: "no catalogue" };

/** An hour, and the tick that looks at all firewalls, networks and keys; at the next one the catalogue is due. */
async function hourly(mayfly: Mayfly): Promise<void> {
  mayfly.advance(HOUR);
  await mayfly.tick();
  mayfly.advance(MINUTE);
}

describe("the sweep", () => {
  it("keeps the catalogue: asked for once an hour, and an idle tick in between costs nothing more", async () => {
    const mayfly = createMayfly();
    await minutes(mayfly, 59);
    expect([asked(mayfly), await fetchedAt(mayfly)]).toEqual([0, null]);
    // The hourly look at all firewalls, networks and keys has a tick of its own.
    const idle = await mayfly.tick();
    expect(idle).toMatchObject({ statements: 3 });
    await minutes(mayfly, 1);
    expect(asked(mayfly)).toBe(0);
    await minutes(mayfly, 1);
    expect(asked(mayfly)).toBeGreaterThan(0);
    const first = asked(mayfly);
    expect(await fetchedAt(mayfly)).toBe(mayfly.now());
    await minutes(mayfly, 59);
    expect(asked(mayfly)).toBe(first);
    await minutes(mayfly, 1);
    expect(asked(mayfly)).toBe(first + 1);
    expect(await fetchedAt(mayfly)).toBe(mayfly.now());
  });

  it("asks for none that a call has just asked for", async () => {
    const mayfly = createMayfly();
    mayfly.advance(55 * MINUTE);
    await mayfly.send("GET", "/v1/server_types");
    const before = asked(mayfly);
    await minutes(mayfly, 6);
    expect(asked(mayfly)).toBe(before);
  });

  it("tells in its last phase that the catalogue could not be had, keeps the old one, and asks again in an hour", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    const known = await fetchedAt(mayfly);
    await hourly(mayfly);
    mayfly.simulator.fault({ ...DOWN, times: 9 });
    const report = await mayfly.tick();
    expect(failures(report)).toEqual([expect.stringMatching(/^orphans: .*no catalogue/)]);
    expect(await fetchedAt(mayfly)).toBe(known);
    mayfly.advance(MINUTE);
    expect(failures(await mayfly.tick())).toEqual([]);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 60);
    expect(await fetchedAt(mayfly)).toBeGreaterThan(known ?? Infinity);
  });

  it("leaves it for later where the provider's rate limit is for deletes", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    const before = asked(mayfly);
    leave(mayfly, 1);
    await hourly(mayfly);
    await mayfly.tick();
    expect(asked(mayfly)).toBe(before);
  });

  it("ends its other work though D1 takes no catalogue", async () => {
    const mayfly = createMayfly();
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /INTO catalogues/) });
    await hourly(mayfly);
    const report = await mayfly.tick();
    expect(failures(report)).toEqual(["orphans: the database does not answer"]);
  });

  it("a dry run writes none", async () => {
    const mayfly = createMayfly();
    await hourly(mayfly);
    await mayfly.tick(mayfly.now(), true);
    expect(asked(mayfly)).toBeGreaterThan(0);
    expect(await fetchedAt(mayfly)).toBeNull();
  });
});
