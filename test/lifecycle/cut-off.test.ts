import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
import { BODY, createMayfly, machineIn, machinesIn, SECOND, servers, type Mayfly } from "../mayfly.ts";
import { anyTry } from "../store/tables.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const put = (mayfly: Mayfly, query = "", more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/box${query}`, { ...BODY, ...more });
const get = (mayfly: Mayfly, query = "") => mayfly.send("GET", `/v1/machines/box${query}`);
const INSERT = /INSERT INTO machines/;
const INSERT_RESOURCE = /INSERT INTO resources/;
const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const RESOURCES: [string, string, object][] = [
  ["a firewall", "/v1/firewalls", { name: "web", ...RULES }],
  ["a network", "/v1/networks", { name: "web", ip_range: "10.0.0.0/16", region: "fsn1" }],
  ["a key", "/v1/ssh_keys", { name: "web", public_key: KEY_A }],
];

interface Prepared {
  readonly real: D1PreparedStatement;
  readonly text: string;
}

/** D1 does the first that matches, and its answer is lost; `andDies`: it takes nothing after that, as when the Worker is cut off. */
function losing(mayfly: Mayfly, pattern: RegExp, andDies: boolean): () => void {
  const { DB } = mayfly.bindings;
  let isLost = false;
  const lose = async <T>(text: string, act: () => Promise<T>): Promise<T> => {
    if (isLost && andDies) throw new Error("D1_ERROR: gone");
    const answer = await act();
    if (isLost || !pattern.test(text)) return answer;
    isLost = true;
    throw new Error("D1_ERROR: the answer is lost");
  };
  const prepared = (real: D1PreparedStatement, text: string): Prepared & Record<string, unknown> => ({
    real,
    text,
    bind: (...params: unknown[]) => prepared(real.bind(...params), text),
    all: () => lose(text, () => real.all()),
  });
  const batch = (list: Prepared[]) =>
    lose(list.map(({ text }) => text).join("\n"), () => DB.batch(list.map(({ real }) => real)));
  mayfly.configure({ DB: { prepare: (text: string) => prepared(DB.prepare(text), text), batch } });
  return () => mayfly.configure({ DB });
}

/** A mayfly whose create was cut off between its row and the provider. */
async function cutOff(pattern = INSERT, create: (mayfly: Mayfly) => Promise<unknown> = put): Promise<Mayfly> {
  const mayfly = createMayfly();
  const restore = losing(mayfly, pattern, true);
  await create(mayfly);
  restore();
  expect(servers(mayfly)).toEqual([]);
  return mayfly;
}

describe("a create that was cut off before it asked the provider", () => {
  it("is taken over by whoever repeats it with a wait, in the moment in which nobody can still be making it", async () => {
    const mayfly = await cutOff();
    const before = mayfly.now();
    const repeat = await put(mayfly, "?wait=30");
    expect(repeat.status).toBe(200);
    expect(machineIn(repeat).provider_id).toBe(String(servers(mayfly)[0]?.id));
    expect(mayfly.now() - before).toBe(30 * SECOND);
  });

  it("goes on to run within what is left of the wait", async () => {
    const mayfly = await cutOff();
    mayfly.advance(15 * SECOND);
    expect(machineIn(await put(mayfly, "?wait=30")).status).toBe("running");
  });

  it("is not taken over before: a shorter wait, or none, is told of the machine to come", async () => {
    const mayfly = await cutOff();
    for (const query of ["", "?wait=20"]) {
      const answer = await put(mayfly, query);
      expect(machineIn(answer)).toMatchObject({ status: "creating", provider_id: null });
      expect(answer.text).not.toContain("unsent");
    }
    expect(servers(mayfly)).toEqual([]);
  });

  it("answers whoever waited what the provider said to the try that was taken over", async () => {
    const mayfly = await cutOff();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 412, code: "resource_unavailable" });
    expect(await put(mayfly, "?wait=30")).toMatchObject({ status: 503, body: { code: "capacity" } });
  });

  it("says in every answer about it that nobody is making it, and what to do, once that is so and no longer", async () => {
    const mayfly = await cutOff();
    expect((await get(mayfly)).text).not.toContain("unsent");
    mayfly.advance(30 * SECOND);
    const told = machineIn(await get(mayfly));
    expect(told).toMatchObject({ status: "creating", unsent: true });
    expect(told.next).toContain("PUT");
    const [listed] = machinesIn(await mayfly.send("GET", "/v1/machines"));
    expect(listed).toMatchObject({ unsent: true });
    expect((await put(mayfly)).text).not.toContain("unsent");
    expect((await get(mayfly)).text).not.toContain("unsent");
  });

  it("is not said to be unsent when its lease has ended, for then no repeat makes it", async () => {
    const mayfly = await cutOff(INSERT, (one) => put(one, "", { ttl: "60s" }));
    mayfly.advance(61 * SECOND);
    expect((await get(mayfly)).text).not.toContain("unsent");
  });
});

describe("a create of which a statement failed", () => {
  it.each([
    ["its INSERT", INSERT, {}],
    ["what it is made with", /UPDATE machines SET server_type/, { firewalls: [RULES] }],
    ["the record of what was made", /UPDATE machines SET phase = 'active'/, {}],
  ])(
    "gives its claim back where the answer to %s was lost, so that a repeat goes on at once",
    async (_what, pattern, more) => {
      const mayfly = createMayfly();
      const restore = losing(mayfly, pattern, false);
      const first = await put(mayfly, "", more);
      restore();
      expect(first).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
      expect(Number(first.headers.get("Retry-After"))).toBeLessThanOrEqual(10);
      const repeat = await put(mayfly, "", more);
      expect(machineIn(repeat).provider_id).toBe(String(servers(mayfly)[0]?.id));
      expect(servers(mayfly)).toHaveLength(1);
    },
  );

  it("says to come back when the claim has ended, where even that failed", async () => {
    const mayfly = createMayfly();
    losing(mayfly, INSERT, true);
    const answer = await put(mayfly);
    expect(answer).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    expect(answer.headers.get("Retry-After")).toBe("30");
  });

  it("does not take the claim of another call that took the try over meanwhile", async () => {
    const mayfly = createMayfly();
    let isFirst = true;
    between(mayfly, async (request, real) => {
      if (request.method !== "POST" || !isFirst) return real(request);
      isFirst = false;
      mayfly.advance(31 * SECOND);
      const [uid, now] = [await uidOf(mayfly), mayfly.now()];
      expect(await mayfly.store.work.claimTry(uid, anyTry(now, now + 30 * SECOND))).toBe(true);
      return Response.json({ error: { code: "unavailable", message: "no" } }, { status: 503 });
    });
    expect((await put(mayfly)).status).toBe(503);
    expect((await mayfly.store.machines.byName("admin", "box"))?.nextTryAt ?? 0).toBeGreaterThan(mayfly.now());
  });
});

async function uidOf(mayfly: Mayfly): Promise<string> {
  const row = await mayfly.store.machines.byName("admin", "box");
  if (row === null) throw new Error("there is no row");
  return row.uid;
}

describe.each(RESOURCES)("%s that was cut off before it was asked for", (_kind, path, body) => {
  it("is answered by a repeat as what it is, and made by the one after its claim", async () => {
    const mayfly = await cutOff(INSERT_RESOURCE, (one) => one.send("POST", path, body));
    expect((await mayfly.send("POST", path, body)).text).toContain('"creating"');
    mayfly.advance(30 * SECOND);
    expect((await mayfly.send("GET", `${path}/web`)).text).toContain('"unsent":true');
    const made = await mayfly.send("POST", path, body);
    expect(made.text).toContain('"active"');
    expect(made.text).not.toContain("unsent");
  });

  it("gives its claim back where a statement failed, so that a repeat goes on at once", async () => {
    const mayfly = createMayfly();
    const restore = losing(mayfly, INSERT_RESOURCE, false);
    expect((await mayfly.send("POST", path, body)).status).toBe(503);
    restore();
    expect((await mayfly.send("POST", path, body)).text).toContain('"active"');
  });

  it("says to come back when the claim has ended, where even that failed", async () => {
    const mayfly = createMayfly();
    losing(mayfly, INSERT_RESOURCE, true);
    expect((await mayfly.send("POST", path, body)).headers.get("Retry-After")).toBe("30");
  });
});

describe("a machine with a firewall of its own", () => {
  it("whose create was cut off while that was made is finished by the repeat, with one firewall", async () => {
    const mayfly = createMayfly();
    const restore = losing(mayfly, INSERT_RESOURCE, false);
    expect((await put(mayfly, "", { firewalls: [RULES] })).status).toBe(503);
    restore();
    expect((await put(mayfly, "", { firewalls: [RULES] })).status).toBe(200);
    expect(servers(mayfly)[0]?.public_net.firewalls).toHaveLength(1);
    expect(mayfly.simulator.state().firewalls).toHaveLength(1);
  });

  it("is answered no sooner than the firewall can be made by another call", async () => {
    const mayfly = await cutOff(INSERT_RESOURCE, (one) => put(one, "", { firewalls: [RULES] }));
    mayfly.advance(30 * SECOND);
    const restore = losing(mayfly, /UPDATE resources SET next_try_at/, true);
    await put(mayfly, "", { firewalls: [RULES] });
    restore();
    await mayfly.store.work.giveBack(await uidOf(mayfly), "for the test", mayfly.now());
    const answer = await put(mayfly, "", { firewalls: [RULES] });
    expect(answer).toMatchObject({ status: 503, body: { code: "provider_unavailable" } });
    expect(answer.headers.get("Retry-After")).toBe("30");
  });
});
