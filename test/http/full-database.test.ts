import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { through } from "../trips.ts";
import { BODY, createMayfly, HOUR, machineIn, MINUTE, minutes, refusing, servers, type Mayfly } from "../mayfly.ts";

/** SQLite's own words, and D1's. */
const WORDS = ["database or disk is full: SQLITE_FULL", "Exceeded maximum DB size."];

/** A database that has no page left: rows can be read and deleted; the one row of the lock stays where it is. */
const fill = (mayfly: Mayfly, words = WORDS[0]) =>
  mayfly.configure({ DB: refusing(env.DB, /^(INSERT|UPDATE (OR IGNORE )?(?!locks))/, words) });

/** A database of so many bytes. */
const holding = (bytes: number): D1Database =>
  through(env.DB, async (_trip, send) =>
    (await send()).map((result) => Object.assign(result, { meta: { ...result.meta, size_after: bytes } })),
  );

async function running(mayfly: Mayfly, name: string): Promise<string> {
  const { id } = machineIn(await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "1h" }));
  await minutes(mayfly, 2);
  return id;
}

describe("a full database", () => {
  it.each(WORDS)("is named to whoever wants something written: %s", async (words) => {
    const mayfly = createMayfly();
    await running(mayfly, "box");
    fill(mayfly, words);
    for (const [method, path, body] of [
      ["PUT", "/v1/machines/new", BODY],
      ["POST", "/v1/machines/box/renew", { ttl: "2h" }],
      ["DELETE", "/v1/machines?label_selector=a", undefined],
      ["POST", "/v1/tokens", { owner: "alice" }],
    ] as const) {
      const { status, body: problem, text } = await mayfly.send(method, path, body);
      expect([path, status, problem]).toMatchObject([path, 507, { code: "store_full" }]);
      expect(text).toContain("shorten KEEP_HISTORY");
    }
    expect(servers(mayfly)).toHaveLength(1);
  });

  it.each(["", "?tombstone=10m", "?outcome=failure"])(
    "lets an owner destroy a machine all the same (DELETE %s), which the sweep takes down once there is room",
    async (query) => {
      const mayfly = createMayfly();
      await running(mayfly, "box");
      await running(mayfly, "other");
      fill(mayfly);
      const answer = await mayfly.send("DELETE", `/v1/machines/box${query}`);
      expect([answer.status, machineIn(answer).status]).toEqual([202, "deleting"]);
      expect(servers(mayfly).map(({ labels }) => labels?.["mayfly-name"])).toEqual(["other"]);
      mayfly.configure({ DB: env.DB });
      await minutes(mayfly, 61);
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).status).toBe("destroyed");
    },
  );

  it("lets an owner see all that is known, of a machine that is being created too", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("GET", "/v1/server_types", undefined, ann);
    await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true }, ann);
    const { id } = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann));
    mayfly.advance(11 * MINUTE);
    fill(mayfly);
    for (const path of ["machines", "machines/box", `machines/${id}?wait=5`, "firewalls", "events", "usage", "whoami"])
      expect([path, (await mayfly.send("GET", `/v1/${path}`, undefined, ann)).status]).toEqual([path, 200]);
    for (const path of ["server_types", "pricing?region=fsn1&server_type=cx23"])
      expect([path, (await mayfly.send("GET", `/v1/${path}`, undefined, ann)).status]).toEqual([path, 200]);
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY, ann)).status).toBe(200);
  });

  it("does not call a machine destroyed that the provider did not delete", async () => {
    const mayfly = createMayfly();
    await running(mayfly, "box");
    fill(mayfly);
    mayfly.simulator.fault({ method: "DELETE", path: "/servers/", status: 503, times: 9 });
    expect(await mayfly.send("DELETE", "/v1/machines/box")).toMatchObject({ status: 503 });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("destroys nothing that is not proven to be the machine that was lent", async () => {
    const mayfly = createMayfly();
    await running(mayfly, "box");
    fill(mayfly);
    const [server] = servers(mayfly);
    await mayfly.simulator.fetch(
      new Request(`http://simulator/v1/servers/${server?.id}`, {
        method: "PUT",
        headers: { Authorization: `Bearer ${env.HCLOUD_TOKEN}`, "Content-Type": "application/json" },
        body: JSON.stringify({ labels: { ...server?.labels, "mayfly-uid": "11111111-1111-4111-8111-111111111111" } }),
      }),
    );
    expect(await mayfly.send("DELETE", "/v1/machines/box")).toMatchObject({
      status: 409,
      body: { code: "identity_mismatch" },
    });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("lets sweeps end what is an hour past the end that its label tells, and forget what is old", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d", MAX_AGE: "3d" });
    await running(mayfly, "past");
    mayfly.advance(26 * HOUR);
    await minutes(mayfly, 2);
    await running(mayfly, "box");
    fill(mayfly);
    const ended = await env.DB.prepare("SELECT count(*) AS rows FROM events").first("rows");
    await minutes(mayfly, 100);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 25);
    expect(servers(mayfly)).toEqual([]);
    mayfly.advance(3 * HOUR * 24);
    await minutes(mayfly, 2);
    expect(await env.DB.prepare("SELECT count(*) AS rows FROM events").first("rows")).not.toBe(ended);
    expect((await mayfly.send("GET", "/healthz", undefined, null)).text).toContain("the last one failed");
  });

  it("turns health red before it is full, by what the plan allows", async () => {
    const mayfly = createMayfly();
    const reasons = async (bytes: number, plan: string) => {
      mayfly.configure({ DB: holding(bytes), PLAN: plan });
      return (await mayfly.send("GET", "/healthz", undefined, null)).text;
    };
    expect(await reasons(400e6, "free")).toContain("green");
    expect(await reasons(480e6, "free")).toContain("holds 480 of its 500 MB");
    expect(await reasons(480e6, "paid")).toContain("green");
    expect(await reasons(9_600e6, "paid")).toContain("holds 9600 of its 10000 MB");
  });
});
