import { describe, expect, it } from "vitest";
import * as z from "zod";
import { LABEL } from "../../src/machine/labels.ts";
import { behind, between } from "../behind.ts";
import { BODY, createMayfly, HOUR, MINUTE, minutes, SECOND, servers, type Answer, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, more: object = {}) => mayfly.send("PUT", "/v1/machines/box", { ...BODY, ...more });
const destroy = (mayfly: Mayfly) => mayfly.send("DELETE", "/v1/machines/box");
const renew = (mayfly: Mayfly, ttl: string) => mayfly.send("POST", "/v1/machines/box/renew", { ttl });
const LIST = { method: "GET", path: "^/v1/servers$" };
const ONE = { method: "GET", path: "^/v1/servers/\\d+$" };
const CREATE = { method: "POST", path: "^/v1/servers$" };
const UNAVAILABLE = { status: 503, code: "unavailable", message: "no" };

async function rowOf(mayfly: Mayfly) {
  const row = await mayfly.store.machines.byName("admin", "box");
  if (row === null) throw new Error("there is no row");
  return row;
}

/** A machine that runs, as its row knows. */
async function running(more: object = {}): Promise<Mayfly> {
  const mayfly = createMayfly();
  expect((await put(mayfly, more)).status).toBe(201);
  mayfly.advance(10 * SECOND);
  await mayfly.tick();
  return mayfly;
}

/** A person at the provider's console sets exactly these labels. */
async function setLabels(mayfly: Mayfly, labels: Record<string, string>): Promise<void> {
  const [server] = servers(mayfly);
  const headers = { Authorization: "Bearer any", "Content-Type": "application/json" };
  const url = `https://simulator/v1/servers/${server?.id}`;
  const answer = await mayfly.simulator.fetch(
    new Request(url, { method: "PUT", headers, body: JSON.stringify({ labels }) }),
  );
  expect(answer.status).toBe(200);
}

/** Every read shows this instead of what is there. */
function disguise(mayfly: Mayfly, as: object): () => void {
  const { simulator } = mayfly;
  const real = simulator.fetch.bind(simulator);
  mayfly.simulator.fetch = async (request) => {
    const answer = await real(request);
    if (request.method !== "GET" || answer.status !== 200) return answer;
    const body: unknown = await answer.json();
    const shown = JSON.stringify(body, (_key, value: unknown) =>
      typeof value === "object" && value !== null && "labels" in value && "public_net" in value
        ? { ...value, ...as }
        : value,
    );
    return new Response(shown, answer);
  };
  return () => {
    mayfly.simulator.fetch = real;
  };
}

const labelsOf = (mayfly: Mayfly) => servers(mayfly).map(({ labels }) => labels);
const codeOf = ({ body }: Answer) => JSON.stringify(body);

describe("a machine that is another one by now", () => {
  it("is left alone by a renewal, which says so (I2)", async () => {
    const mayfly = await running({ ttl: "30m" });
    await setLabels(mayfly, { mine: "now" });
    const answer = await renew(mayfly, "1h");
    expect(answer.status).toBe(409);
    expect(codeOf(answer)).toContain("identity_mismatch");
    expect(labelsOf(mayfly)).toEqual([{ mine: "now" }]);
  });

  it("after the provider agreed to delete it is given up, and the name is free again", async () => {
    const mayfly = await running();
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", action_error: true });
    expect((await destroy(mayfly)).status).toBe(202);
    await setLabels(mayfly, { mine: "now" });
    await minutes(mayfly, 5);
    expect((await rowOf(mayfly)).phase).toBe("disowned");
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("labels that cannot be read", () => {
  // As a whole, or one of ours.
  const UNREADABLE = [null, { [LABEL.managed]: true }, { [LABEL.managed]: "true", [LABEL.uid]: 7 }];

  it.for(UNREADABLE)(
    "are not taken for none: a renewal writes nothing over %j, and the machine dies at its end",
    async (labels) => {
      const mayfly = await running({ ttl: "30m" });
      const before = labelsOf(mayfly);
      const reveal = disguise(mayfly, { labels });
      expect((await renew(mayfly, "1h")).status).toBe(200);
      expect(labelsOf(mayfly)).toEqual(before);
      reveal();
      await minutes(mayfly, 62);
      expect(servers(mayfly)).toEqual([]);
    },
  );

  it.for(UNREADABLE)(
    "of a machine that is due are an alert for as long as it takes, and no reason to give it up: %j",
    async (labels) => {
      const mayfly = await running({ ttl: "10m" });
      mayfly.advance(10 * MINUTE);
      const reveal = disguise(mayfly, { labels });
      await minutes(mayfly, 4);
      expect((await rowOf(mayfly)).phase).not.toBe("disowned");
      reveal();
      await minutes(mayfly, 60);
      expect(servers(mayfly)).toEqual([]);
    },
  );

  it.each([
    ["shortly", 0, false],
    ["past LAUNCH_DEADLINE", 20, false],
    ["past LAUNCH_DEADLINE and a DELETE", 20, true],
  ])("%s leave a lost create in doubt, so that the sweep still finds its machine", async (_when, dark, isGivenUp) => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...CREATE, drop: "after" });
    const reveal = disguise(mayfly, { labels: null });
    expect((await put(mayfly, { ttl: "1h" })).status).toBe(503);
    if (isGivenUp) await destroy(mayfly);
    await minutes(mayfly, dark);
    reveal();
    await minutes(mayfly, 62);
    expect(servers(mayfly)).toEqual([]);
    expect((await rowOf(mayfly)).phase).toBe("destroyed");
  });
});

describe("a deletion that was agreed to", () => {
  it("of a machine whose id was never recorded is proven and closed all the same", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...CREATE, drop: "after" });
    mayfly.simulator.fault({ ...LIST, ...UNAVAILABLE });
    expect((await put(mayfly)).status).toBe(503);
    mayfly.advance(10 * SECOND);
    mayfly.simulator.fault({ ...ONE, ...UNAVAILABLE });
    await destroy(mayfly);
    expect(servers(mayfly)).toEqual([]);
    await minutes(mayfly, 3);
    expect((await rowOf(mayfly)).phase).toBe("destroyed");
  });
});

describe("a create in doubt", () => {
  it.each(["2h", "60s"])("of %s is not given up on the word of a list that failed", async (ttl) => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...CREATE, drop: "after" });
    mayfly.simulator.fault({ ...LIST, ...UNAVAILABLE });
    await put(mayfly, { ttl });
    mayfly.advance(16 * MINUTE);
    mayfly.simulator.fault({ ...LIST, ...UNAVAILABLE, times: 2 });
    await mayfly.tick();
    expect((await rowOf(mayfly)).missingSince).toBeNull();
  });

  it("has its time from the last try on: a repeat just before the deadline is not failed a moment later", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...CREATE, ...UNAVAILABLE });
    await put(mayfly, { ttl: "1h" });
    await minutes(mayfly, 15);
    mayfly.advance(30 * SECOND);
    mayfly.simulator.fault({ ...CREATE, hide_from_list_seconds: 150 });
    mayfly.simulator.fault({ ...CREATE, drop: "after" });
    expect((await put(mayfly, { ttl: "1h" })).status).toBe(503);
    await minutes(mayfly, 5);
    expect(await rowOf(mayfly)).toMatchObject({ phase: "active", providerId: String(servers(mayfly)[0]?.id) });
  });

  it("shown with an unknown status is still being created, and fails at the deadline", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...CREATE, action_error: { command: "start_server" } });
    await put(mayfly, { ttl: "10h" });
    const reveal = disguise(mayfly, { status: "migrating" });
    await minutes(mayfly, 1);
    reveal();
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
    expect(await rowOf(mayfly)).toMatchObject({ phase: "destroyed", reason: "launch_failed" });
  });

  it("whose tombstone comes between its look and its insert is forbidden by it", async () => {
    const mayfly = createMayfly();
    const db = mayfly.bindings.DB;
    let hasLooked = false;
    let wasSet = false;
    const prepare = (text: string) => {
      hasLooked ||= text.includes("FROM tombstones WHERE owner");
      return db.prepare(text);
    };
    const batch = async (statements: D1PreparedStatement[]) => {
      if (hasLooked && !wasSet) {
        wasSet = true;
        await mayfly.store.tombstones.set("admin", "box", mayfly.now() + HOUR, mayfly.now());
      }
      return db.batch(statements);
    };
    mayfly.configure({ DB: { prepare, batch } });
    const answer = await put(mayfly);
    expect([wasSet, answer.status]).toEqual([true, 409]);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("a label that could not be written", () => {
  it("never puts off an end", async () => {
    const mayfly = await running({ ttl: "10m" });
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", ...UNAVAILABLE, times: 5 });
    expect((await renew(mayfly, "14m")).status).toBe(200);
    await minutes(mayfly, 15);
    expect(servers(mayfly)).toEqual([]);
  });

  it("does not keep a machine longer than a shorter keep_on_failure asks for", async () => {
    const mayfly = await running({ ttl: "20h", keep_on_failure: "60s" });
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", ...UNAVAILABLE, times: 2 });
    expect((await mayfly.send("DELETE", "/v1/machines/box?outcome=failure")).status).toBe(200);
    await minutes(mayfly, 3);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("a label that was written, though nobody heard of it", () => {
  it("keeps a machine past the shorter end that its row moved on to: until the end that it tells, and no longer", async () => {
    const mayfly = await running({ ttl: "1h", keep_on_failure: "2m" });
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", drop: "after" });
    const promised = mayfly.now() + 2 * HOUR;
    expect((await renew(mayfly, "2h")).status).toBe(200);
    mayfly.advance(SECOND);
    expect((await mayfly.send("DELETE", "/v1/machines/box?outcome=failure")).status).toBe(200);
    await minutes(mayfly, 119);
    expect(servers(mayfly)).toHaveLength(1);
    expect(await rowOf(mayfly)).toMatchObject({ expiresAt: promised, labelExpiresAt: promised });
    expect((await mayfly.send("GET", "/healthz")).status).toBe(200);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
    expect((await rowOf(mayfly)).phase).toBe("destroyed");
    expect((await mayfly.send("GET", "/healthz")).status).toBe(200);
  });
});

describe("a tombstone", () => {
  it("is honoured for a name that is live, and refused where it says nothing: by id, or too long", async () => {
    const mayfly = await running();
    const { uid } = await rowOf(mayfly);
    const byId = await mayfly.send("DELETE", `/v1/machines/mch_${uid}?tombstone=10m`);
    expect(byId).toMatchObject({ status: 422, body: { field: "tombstone" } });
    const tooLong = await mayfly.send("DELETE", "/v1/machines/box?tombstone=365d");
    expect(tooLong).toMatchObject({ status: 422, body: { field: "tombstone" } });
    expect(servers(mayfly)).toHaveLength(1);
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=10m")).status).toBe(200);
    expect((await put(mayfly)).status).toBe(409);
    mayfly.advance(10 * MINUTE);
    expect((await put(mayfly)).status).toBe(201);
    expect(servers(mayfly).every(({ labels }) => labels?.["mayfly-managed"] === "true")).toBe(true);
  });
});

describe("the answer of a create", () => {
  it("that tells another server's id, after its owner's DELETE, destroys nothing without a look (I2)", async () => {
    const mayfly = createMayfly();
    const answer = await behind(mayfly, "POST", "/servers", {
      name: "theirs",
      server_type: "cx23",
      image: "debian-12",
    });
    const theirs = z.object({ server: z.object({ id: z.number() }) }).parse(answer).server.id;
    let made = 0;
    between(mayfly, async (request, real) => {
      const reply = await real(request);
      if (request.method !== "POST" || !request.url.endsWith("/servers")) return reply;
      await destroy(mayfly);
      const told = z.looseObject({ server: z.looseObject({ id: z.number() }) }).parse(await reply.json());
      made = told.server.id;
      return Response.json({ ...told, server: { ...told.server, id: theirs } }, { status: 201 });
    });
    expect((await put(mayfly)).status).toBe(409);
    expect(servers(mayfly).map(({ id }) => id)).toEqual(expect.arrayContaining([theirs]));
    await minutes(mayfly, 90);
    expect(made).not.toBe(0);
    expect(servers(mayfly).map(({ id }) => id)).toEqual([theirs]);
  });
});
