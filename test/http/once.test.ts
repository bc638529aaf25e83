import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { behind, between } from "../behind.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { BODY, createMayfly, HOUR, machineIn, machinesIn, MINUTE, servers, type Mayfly } from "../mayfly.ts";

const post = (mayfly: Mayfly, key: string | null, body: object = BODY, token: string = env.ADMIN_TOKEN) =>
  mayfly.send("POST", "/v1/machines", body, token, key === null ? {} : { "Idempotency-Key": key });

const told = z.object({ name: z.string(), next: z.string() });

describe("a POST with an Idempotency-Key", () => {
  it("makes one machine, however often it is sent, and answers that one", async () => {
    const mayfly = createMayfly();
    const first = await post(mayfly, "build-7");
    const again = await post(mayfly, "build-7");
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(machineIn(again).id).toBe(machineIn(first).id);
    expect(servers(mayfly)).toHaveLength(1);
    expect((await post(mayfly, "build-8")).status).toBe(201);
    expect((await post(mayfly, null)).status).toBe(201);
    expect((await post(mayfly, null)).status).toBe(201);
    expect(servers(mayfly)).toHaveLength(4);
  });

  it("makes one machine, though several calls come at once", async () => {
    const mayfly = createMayfly();
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(mayfly, "k")));
    expect(new Set(answers.map((answer) => machineIn(answer).id)).size).toBe(1);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 201]);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("is each owner's own: the same key of two makes two", async () => {
    const mayfly = createMayfly();
    for (const who of ["ann", "bob"])
      expect((await post(mayfly, "k", BODY, await mayfly.tokenOf(who))).status).toBe(201);
    expect(servers(mayfly)).toHaveLength(2);
  });

  it("with another body is refused, before its machine has ended and after", async () => {
    const mayfly = createMayfly();
    const made = machineIn(await post(mayfly, "k"));
    const other = { ...BODY, region: "nbg1" };
    const ofTheKey: unknown = expect.stringContaining("Idempotency-Key");
    const refused = {
      status: 409,
      body: { code: "spec_mismatch", detail: ofTheKey },
    };
    expect(await post(mayfly, "k", other)).toMatchObject(refused);
    const longer = { ...refused, body: { ...refused.body, fields: ["ttl"] } };
    expect(await post(mayfly, "k", { ...BODY, ttl: "2h" })).toMatchObject(longer);
    await mayfly.send("DELETE", `/v1/machines/${made.id}`);
    expect(await post(mayfly, "k", other)).toMatchObject({ ...refused, body: { ...refused.body, fields: ["region"] } });
    expect(await post(mayfly, "k", { ...BODY, ttl: "2h" })).toMatchObject(longer);
    expect(servers(mayfly)).toEqual([]);
  });

  it("answers a machine that has ended as ended, for a day, and then makes another", async () => {
    const mayfly = createMayfly();
    const made = machineIn(await post(mayfly, "k"));
    await mayfly.send("DELETE", `/v1/machines/${made.id}`);
    mayfly.advance(24 * HOUR - 1);
    const again = await post(mayfly, "k");
    expect([again.status, machineIn(again)]).toMatchObject([200, { id: made.id, status: "destroyed" }]);
    expect(servers(mayfly)).toEqual([]);
    mayfly.advance(1);
    expect((await post(mayfly, "k")).status).toBe(201);
  });

  it("answers a machine that is on its way out as such, another body refused: no repeat is told to wait for another", async () => {
    const mayfly = createMayfly();
    const made = machineIn(await post(mayfly, "k"));
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", times: 9, status: 500, code: "server_error" });
    expect((await mayfly.send("DELETE", `/v1/machines/${made.id}`)).status).toBe(202);
    const again = await post(mayfly, "k");
    expect([again.status, machineIn(again)]).toMatchObject([200, { id: made.id, status: "deleting" }]);
    expect(await post(mayfly, "k", { ...BODY, ttl: "2h" })).toMatchObject({ status: 409, body: { fields: ["ttl"] } });
  });

  it("after the end of the lease is told so, and to use another key", async () => {
    const mayfly = createMayfly();
    const body = { ...BODY, ttl: "10m" };
    await post(mayfly, "k", body);
    mayfly.advance(10 * MINUTE);
    const another: unknown = expect.stringContaining("another key");
    expect(await post(mayfly, "k", body)).toMatchObject({ status: 409, body: { code: "expired", next: another } });
    expect((await mayfly.send("PUT", "/v1/machines/box", body)).status).toBe(201);
    mayfly.advance(10 * MINUTE);
    expect(await mayfly.send("PUT", "/v1/machines/box", body)).toMatchObject({ body: { code: "releasing" } });
  });

  it("whose machine is destroyed while it is being made is not told that a repeat makes another", async () => {
    const mayfly = createMayfly();
    const real = between(mayfly, async (request, ask) => {
      const answer = await ask(request);
      if (request.method !== "POST") return answer;
      Object.assign(mayfly.simulator, { fetch: real });
      const [row] = machinesIn(await mayfly.send("GET", "/v1/machines"));
      await mayfly.send("DELETE", `/v1/machines/${row?.name}`);
      return answer;
    });
    const another: unknown = expect.stringContaining("another key");
    expect(await post(mayfly, "k")).toMatchObject({ status: 409, body: { code: "released", next: another } });
    expect(machineIn(await post(mayfly, "k")).status).toBe("destroyed");
    expect(servers(mayfly)).toEqual([]);
  });

  it("does not make a second machine where the first one ends between a look and the insert", async () => {
    const mayfly = createMayfly();
    const body = { ...BODY, image: 67_794_396 };
    // The second call is held where it asks for an image, between its look and its insert, until the first one has come and gone.
    let isHeld = false;
    between(mayfly, async (request, real) => {
      if (!isHeld && request.url.includes("/images/")) {
        isHeld = true;
        await mayfly.send("DELETE", `/v1/machines/${machineIn(await post(mayfly, "k", body)).id}`);
      }
      return real(request);
    });
    const slow = await post(mayfly, "k", body);
    expect([isHeld, slow.status, machineIn(slow).status]).toEqual([true, 200, "destroyed"]);
    expect(servers(mayfly)).toEqual([]);
  });

  it("whose name is a stranger's at the provider is told to use another key: there is no name to choose", async () => {
    const mayfly = createMayfly();
    const made = machineIn(await post(mayfly, "k"));
    await behind(mayfly, "PUT", `/servers/${made.provider_id}`, { labels: {} });
    await env.DB.prepare("DELETE FROM machines").run();
    const another: unknown = expect.stringContaining("another key");
    expect(await post(mayfly, "k")).toMatchObject({ status: 409, body: { code: "name_taken", next: another } });
    expect((await post(mayfly, "k2")).status).toBe(201);
  });

  it("is tried anew after a refusal that made nothing", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 412, code: "resource_unavailable" });
    expect((await post(mayfly, "k")).status).toBe(503);
    mayfly.advance(MINUTE);
    expect((await post(mayfly, "k")).status).toBe(201);
  });

  it.each(["", "two words", "a".repeat(201), "tab\there"])(
    "is refused where the key breaks its rule: %j",
    async (key) => {
      const mayfly = createMayfly();
      expect(await post(mayfly, key)).toMatchObject({ status: 422, body: { field: "Idempotency-Key" } });
      expect(mayfly.simulator.requests()).toEqual([]);
    },
  );
});

describe("a firewall, a network or a key that is made with an Idempotency-Key", () => {
  const KINDS = [
    ["firewalls", { name: "a", deny_all: true }],
    ["networks", { name: "a", ip_range: "10.0.0.0/16", region: "fsn1" }],
    ["ssh_keys", { name: "a", public_key: KEY_A }],
  ] as const;

  it.each(KINDS)("%s: is the same one, and under another name refused, after its end too", async (kind, body) => {
    const mayfly = createMayfly();
    const send = (more: object = {}, key = "k") =>
      mayfly.send("POST", `/v1/${kind}`, { ...body, ...more }, env.ADMIN_TOKEN, { "Idempotency-Key": key });
    expect([(await send()).status, (await send()).status]).toEqual([201, 200]);
    const other = { status: 409, body: { code: "spec_mismatch", fields: ["name"] } };
    expect(await send({ name: "b" })).toMatchObject(other);
    expect(await send({ labels: { run: "1" } })).toMatchObject({ status: 409, body: { fields: ["labels"] } });
    expect((await mayfly.send("DELETE", `/v1/${kind}/a`)).status).toBe(200);
    const ended = await send();
    expect([ended.status, ended.text]).toEqual([200, expect.stringContaining('"status":"deleted"')]);
    expect(await send({ name: "b" })).toMatchObject(other);
    expect((await send({}, "another")).status).toBe(201);
    await mayfly.send("DELETE", `/v1/${kind}/a`);
    mayfly.advance(24 * HOUR);
    expect((await send()).status).toBe(201);
    const { firewalls, networks, ssh_keys: keys } = mayfly.simulator.state();
    expect([firewalls, networks, keys].flat()).toHaveLength(1);
  });
});

describe("a key whose first try made nothing, or came too late", () => {
  const send = (mayfly: Mayfly, more: object = {}) =>
    mayfly.send("POST", "/v1/firewalls", { name: "a", deny_all: true, ...more }, env.ADMIN_TOKEN, {
      "Idempotency-Key": "k",
    });

  it("may be sent with a corrected body, and stands for what that has made", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/firewalls$", status: 422, code: "invalid_input" });
    expect((await send(mayfly, { labels: { run: "1" } })).status).toBe(422);
    expect((await send(mayfly)).status).toBe(201);
    expect(await send(mayfly, { name: "b" })).toMatchObject({ status: 409, body: { fields: ["name"] } });
    expect((await mayfly.send("DELETE", "/v1/firewalls/a")).status).toBe(200);
    expect(await send(mayfly)).toMatchObject({ status: 200, body: { firewall: { status: "deleted" } } });
    mayfly.advance(24 * HOUR);
    expect((await send(mayfly)).status).toBe(201);
    await mayfly.send("DELETE", "/v1/firewalls/a");
    expect((await send(mayfly)).status).toBe(200);
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("is refused in its own words to the slower of two bodies at once", async () => {
    const mayfly = createMayfly();
    const answers = await Promise.all(["a", "b"].map((name) => send(mayfly, { name })));
    const slower = answers.find(({ status }) => status !== 201);
    expect(slower).toMatchObject({ status: 409, body: { code: "spec_mismatch", fields: ["name"] } });
    expect(mayfly.simulator.state().firewalls).toHaveLength(1);
  });
});

it("a firewall for machines that was made with a key, and has ended, is answered as ended", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", BODY);
  mayfly.advance(MINUTE);
  const body = { name: "web", deny_all: true, machines: ["box"] };
  const send = () => mayfly.send("POST", "/v1/firewalls", body, env.ADMIN_TOKEN, { "Idempotency-Key": "k" });
  expect((await send()).status).toBe(201);
  await mayfly.send("POST", "/v1/firewalls/web/remove_from_resources", { machines: ["box"] });
  expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(200);
  expect(await send()).toMatchObject({ status: 200, body: { firewall: { status: "deleted" } } });
});

describe("in doubt about a create", () => {
  it("a POST without a key is told the name under which a PUT cannot double it", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers", times: 9, status: 500, code: "server_error" });
    const made: unknown = expect.stringMatching(/^m-/);
    const lost = await post(mayfly, null);
    expect(lost).toMatchObject({
      status: 503,
      body: { code: "provider_unavailable", name: made },
    });
    const { name, next } = told.parse(lost.body);
    expect(next).toContain(`PUT /v1/machines/${name}`);
    mayfly.simulator.clearFaults();
    mayfly.advance(MINUTE);
    expect([200, 201]).toContain((await mayfly.send("PUT", `/v1/machines/${name}`, BODY)).status);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("a POST without a key that was refused for certain is told to repeat it, which makes no second machine", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 429, code: "rate_limit_exceeded" });
    const { status, body } = await post(mayfly, null);
    expect([status, body]).toMatchObject([503, { next: "Repeat the same call; it cannot double anything." }]);
    expect(body).not.toHaveProperty("name");
    mayfly.advance(MINUTE);
    expect((await post(mayfly, null)).status).toBe(201);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("a POST with a key, and a PUT, are told to repeat the call, and under which name the machine may be", async () => {
    const mayfly = createMayfly();
    for (const send of [() => post(mayfly, "k"), () => mayfly.send("PUT", "/v1/machines/box", BODY)]) {
      mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "after" });
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers", times: 2, status: 500, code: "server_error" });
      const lost = await send();
      expect(lost).toMatchObject({ status: 503, body: { next: "Repeat the same call; it cannot double anything." } });
      mayfly.simulator.clearFaults();
      mayfly.advance(MINUTE);
      const { name } = told.parse(lost.body);
      expect(machineIn(await send()).name).toBe(name);
    }
    expect(machinesIn(await mayfly.send("GET", "/v1/machines"))).toHaveLength(2);
    expect(servers(mayfly)).toHaveLength(2);
  });
});
