import { describe, expect, it } from "vitest";
import { behind, between, leave } from "../behind.ts";
import { BODY, createMayfly, HOUR, minutes, refusing, SECOND, servers, type Mayfly } from "../mayfly.ts";

/** Leaves less than the reserve for deletes, and notes what is called for from here on. */
function useUp(mayfly: Mayfly): { calls: string[] } {
  const seen: { calls: string[] } = { calls: [] };
  leave(mayfly, 50);
  between(mayfly, (request, real) => {
    seen.calls.push(`${request.method} ${new URL(request.url).pathname}`);
    return real(request);
  });
  return seen;
}

async function running(names: readonly string[], settings: Record<string, string> = {}): Promise<Mayfly> {
  const mayfly = createMayfly(settings);
  for (const name of names)
    expect((await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "5m" })).status).toBe(201);
  mayfly.advance(10 * SECOND);
  await mayfly.tick();
  return mayfly;
}
const renew = (mayfly: Mayfly, name: string, ttl: string) => mayfly.send("POST", `/v1/machines/${name}/renew`, { ttl });
const endsOf = (mayfly: Mayfly) =>
  servers(mayfly).map(({ labels }) => Number(labels?.["mayfly-expires"]) * 1000 - mayfly.now());
const health = async (mayfly: Mayfly) => (await mayfly.send("GET", "/healthz", undefined, null)).text;

describe("a deletion while the provider's rate limit is nearly used up", () => {
  it("that the provider agreed to and did not carry out is repeated all the same: the reserve is for that", async () => {
    const mayfly = await running(["box"]);
    useUp(mayfly);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", action_error: true });
    await minutes(mayfly, 5);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 4);
    expect(servers(mayfly)).toHaveLength(0);
  });
});

describe("a label while the provider's rate limit is nearly used up", () => {
  it("follows its renewed lease, so that a loss of D1 later ends nothing early", async () => {
    const mayfly = await running(["box"]);
    useUp(mayfly);
    await mayfly.tick();
    expect((await renew(mayfly, "box", "20h")).status).toBe(200);
    await minutes(mayfly, 2);
    expect(endsOf(mayfly)[0]).toBeGreaterThan(19 * HOUR);
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /machines/) });
    await minutes(mayfly, 90);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("is written once in five minutes, and all of them for a tenth of a sweep's calls", async () => {
    const names = ["one", "two", "three"];
    const mayfly = await running(names);
    const seen = useUp(mayfly);
    await mayfly.tick();
    const told: number[] = [];
    for (let minute = 0; minute < 6; minute++) {
      for (const name of names) expect((await renew(mayfly, name, `${20 + minute}m`)).status).toBe(200);
      seen.calls.length = 0;
      await minutes(mayfly, 1);
      told.push(seen.calls.filter((call) => call.startsWith("PUT")).length);
    }
    expect(told).toEqual([2, 1, 0, 0, 0, 2]);
  });

  it("makes health red once it is behind its lease for a quarter of an hour", async () => {
    const mayfly = await running(["box"]);
    mayfly.simulator.fault({
      method: "PUT",
      path: "^/v1/servers/",
      status: 503,
      code: "unavailable",
      message: "no",
      times: 100,
    });
    await renew(mayfly, "box", "20h");
    await minutes(mayfly, 14);
    expect(await health(mayfly)).toContain("green");
    await minutes(mayfly, 2);
    expect(await health(mayfly)).toMatch(/1 machine's label does not tell the lease's end/);
  });

  it.each([0, 5, 14])(
    "does not make health red where its machine was deleted by hand, and renewed all the same: %i min after an inventory",
    async (after) => {
      const mayfly = await running(["box"]);
      await renew(mayfly, "box", "5h");
      await minutes(mayfly, 15 + after);
      await behind(mayfly, "DELETE", `/servers/${servers(mayfly)[0]?.id}`);
      expect((await renew(mayfly, "box", "20h")).status).toBe(200);
      for (let minute = 0; minute < 40; minute++) {
        await minutes(mayfly, 1);
        expect(await health(mayfly)).toContain("green");
      }
      expect(await mayfly.send("GET", "/v1/machines/box")).toMatchObject({ body: { machine: { reason: "lost" } } });
    },
  );
});
