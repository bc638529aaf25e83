import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { UNKNOWN_PRICES } from "../../src/machine/money.ts";
import { held } from "../behind.ts";
import { BODY, createMayfly, HOUR, MINUTE, minutes, refusing, servers, type Answer, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22" };
const UNPAID = { currency: null, credential: null };
const FIREWALLS = { firewalls: Array.from({ length: 5 }, () => ({ rules: [SSH] })) };
const put = (mayfly: Mayfly, body: object, name = "box") =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...body });
const writes = (mayfly: Mayfly) => mayfly.simulator.requests().filter(({ method }) => method !== "GET").length;
const ruleOf = ({ body }: Answer) => z.looseObject({ field: z.string(), rule: z.string() }).parse(body);
const rows = async (mayfly: Mayfly) =>
  (await mayfly.bindings.DB.prepare("SELECT uid FROM machines UNION SELECT uid FROM resources").all()).results.length;

describe("what the known catalogue refuses", () => {
  let mayfly: Mayfly;
  beforeEach(async () => {
    mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
  });

  it.each([
    ["a type that there is not", { server_type: "cx99" }, "server_type", "cx23"],
    ["one of several types", { server_type: ["cx23", "cx99"] }, "server_type.1", "cx23"],
    ["a region that there is not", { region: "atlantis" }, "region", "fsn1"],
    ["one of several regions", { region: ["fsn1", "atlantis"] }, "region.1", "fsn1"],
    ["a region for an architecture", { server_type: undefined, arch: "arm64", region: "atlantis" }, "region", "fsn1"],
    ["a pair that is not sold", { server_type: "cx23", region: "ash" }, "region", "fsn1"],
  ])("is refused before any row or call, naming the field and what there is: %s", async (_what, body, field, there) => {
    const before = mayfly.simulator.requests().length;
    const answer = await put(mayfly, { ...body, ...FIREWALLS });
    expect(answer).toMatchObject({ status: 422, body: { code: "invalid_input", field } });
    expect(ruleOf(answer).rule).toContain(there);
    expect(mayfly.simulator.requests()).toHaveLength(before);
    expect(await rows(mayfly)).toBe(0);
  });

  it("is a network of a region that there is not, too", async () => {
    const before = mayfly.simulator.requests().length;
    const body = { name: "lab", ip_range: "10.0.0.0/16", region: "atlantis" };
    expect(await mayfly.send("POST", "/v1/networks", body)).toMatchObject({ status: 422, body: { field: "region" } });
    expect(mayfly.simulator.requests()).toHaveLength(before);
    expect(await rows(mayfly)).toBe(0);
  });

  it("is what is gone from a region by now", async () => {
    const offer = { region: "fsn1", available: true, deprecated: true, ...UNKNOWN_PRICES };
    const regions = [{ ...offer, unavailableAfter: mayfly.now() + MINUTE }];
    const serverTypes = [{ name: "cx23", arch: "amd64", cores: 2, memoryGb: 4, regions }];
    await mayfly.store.catalogues.write("hetzner", { ...UNPAID, serverTypes, fetchedAt: mayfly.now() });
    expect((await put(mayfly, {}, "a")).status).toBe(201);
    mayfly.advance(MINUTE);
    expect(await put(mayfly, {}, "b")).toMatchObject({ status: 422, body: { code: "invalid_input" } });
    expect((await put(mayfly, {}, "a")).status).toBe(200);
  });

  it("is nothing that is only out of stock, nor a list of which one pair is sold", async () => {
    mayfly.simulator.stock({ server_type: "cx23", location: "fsn1", available: false });
    mayfly.advance(11 * MINUTE);
    await mayfly.send("GET", "/v1/server_types");
    expect((await put(mayfly, {}, "a")).status).toBe(201);
    expect((await put(mayfly, { server_type: ["cx23", "cpx11"], region: ["ash", "fsn1"] }, "b")).status).toBe(201);
  });

  it("is nothing that it does not know: an image by name, or a type or a region by its number", async () => {
    const bodies = [{ image: "no-such-image" }, { server_type: "114" }, { region: "1" }];
    for (const [index, body] of bodies.entries()) {
      const before = writes(mayfly);
      await put(mayfly, body, `m-${index}`);
      expect(writes(mayfly)).toBeGreaterThan(before);
    }
  });
});

describe("a catalogue that is no word to go by", () => {
  const asks = async (mayfly: Mayfly) => {
    expect(await put(mayfly, { server_type: "cx99" })).toMatchObject({ status: 422, body: { code: "invalid_input" } });
    return writes(mayfly) > 0;
  };

  it("is one that there is not, that is empty or older than a day: the provider is asked", async () => {
    const none = createMayfly();
    expect(await asks(none)).toBe(true);
    const empty = createMayfly();
    await empty.store.catalogues.write("hetzner", { ...UNPAID, serverTypes: [], fetchedAt: empty.now() });
    expect(await asks(empty)).toBe(true);
    const old = createMayfly();
    await old.send("GET", "/v1/server_types");
    old.advance(24 * HOUR + 1);
    expect(await asks(old)).toBe(true);
  });
});

describe("a create that fails definitely", () => {
  const MORE = { ssh_keys: [KEY_A], firewalls: [{ rules: [SSH] }], networks: [{ ip_range: "10.0.0.0/16" }] };
  const invalid = { method: "POST", path: "^/v1/servers$", status: 422, code: "invalid_input", message: "because" };

  it("takes what it had made with it, in the same call", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault(invalid);
    expect((await put(mayfly, MORE)).status).toBe(422);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("litters nothing, however often and with however much it is asked", async () => {
    const mayfly = createMayfly();
    for (let index = 0; index < 6; index++) await put(mayfly, { server_type: "cx99", ...FIREWALLS }, `m-${index}`);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
    const costs = mayfly.logs.flatMap((line) => (line.event === "request" ? [line] : []));
    expect(costs.every((line) => Number(line["fetches"]) <= 50 && Number(line["statements"]) <= 50)).toBe(true);
  });

  it("after a firewall that could not be made takes the others with it", async () => {
    const mayfly = createMayfly();
    const { method, path } = { method: "POST", path: "^/v1/networks$" };
    mayfly.simulator.fault({ method, path, status: 403, code: "resource_limit_exceeded" });
    expect((await put(mayfly, MORE)).status).toBe(503);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("because a machine of its name is still going takes it, too", async () => {
    const mayfly = createMayfly();
    await put(mayfly, {});
    const [server] = servers(mayfly);
    await mayfly.send("DELETE", "/v1/machines/box");
    mayfly.simulator.addServer({ name: server?.name ?? "", labels: server?.labels ?? {} });
    expect(await put(mayfly, MORE)).toMatchObject({ status: 409, body: { code: "releasing" } });
    expect(held(mayfly)).toEqual([1, 0, 0, 0]);
  });

  it("marks what the provider would not delete at once, so that the next sweep does, without a second look", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault(invalid);
    mayfly.simulator.fault({ method: "DELETE", path: ".*", status: 423, code: "locked", message: "busy", times: 3 });
    expect((await put(mayfly, MORE)).status).toBe(422);
    expect(held(mayfly)).toEqual([0, 1, 1, 1]);
    await minutes(mayfly, 1);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("answers what the provider said, though D1 does not take down what is to go", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault(invalid);
    const { DB } = mayfly.bindings;
    mayfly.configure({ DB: refusing(DB, /SET delete_requested_at/) });
    expect(await put(mayfly, MORE)).toMatchObject({ status: 422, body: { code: "invalid_input" } });
    mayfly.configure({ DB });
    await minutes(mayfly, 3);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("by a code of the provider's that nobody here knows ends its row at once, and takes what it had made with it", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...invalid, code: "brand_new_code" });
    expect((await put(mayfly, MORE)).status).toBe(503);
    const ended = { status: "destroyed", reason: "provider_unavailable" };
    expect((await mayfly.send("GET", "/v1/machines/box")).body).toMatchObject({ machine: ended });
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
    mayfly.simulator.fault({ method: "POST", path: "^/v1/firewalls$", status: 422, code: "brand_new_code" });
    const web = () => mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] });
    expect((await web()).status).toBe(503);
    expect((await mayfly.send("GET", "/v1/firewalls/web")).body).toMatchObject({ firewall: { status: "failed" } });
    expect((await web()).status).toBe(201);
  });

  it.each([
    ["a status that tells nothing", { status: 409, code: "brand_new_code" }],
    ["a page of whoever stands between", { status: 422, body: "<html>no</html>" }],
  ])("is none where the unknown refusal comes as %s: the row stays for the repeat", async (_what, answer) => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", ...answer });
    expect((await put(mayfly, MORE)).status).toBe(503);
    expect(held(mayfly)).toEqual([0, 1, 1, 1]);
    expect((await put(mayfly, MORE)).status).toBe(200);
  });

  it("in doubt keeps what it had made, for the repeat", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await put(mayfly, MORE)).status).toBe(503);
    expect(held(mayfly)).toEqual([0, 1, 1, 1]);
    expect((await put(mayfly, MORE)).status).toBe(200);
    expect(held(mayfly)).toEqual([1, 1, 1, 1]);
  });

  it("leaves alone what its owner had before, and a key that others use", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] });
    await put(mayfly, { ssh_keys: [KEY_A] }, "other");
    mayfly.simulator.fault(invalid);
    expect((await put(mayfly, { firewalls: ["web"], ssh_keys: [KEY_A] })).status).toBe(422);
    expect(held(mayfly)).toEqual([1, 1, 0, 1]);
  });

  it("with all that a body may ask for stays within an invocation of a free plan, and the next sweep does the rest", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.stock({ orderable: false });
    const networks = ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"].map((ip_range) => ({ ip_range }));
    const types = { server_type: ["cx23", "cx33", "cx43", "cx53"], region: ["fsn1", "nbg1", "hel1"] };
    expect((await put(mayfly, { ...types, networks, firewalls: FIREWALLS.firewalls.slice(0, 2) })).status).toBe(503);
    const { fetches, statements } = z
      .looseObject({ fetches: z.number(), statements: z.number() })
      .parse(mayfly.logs.findLast(({ event }) => event === "request"));
    expect([fetches, statements].every((count) => count <= 50)).toBe(true);
    await minutes(mayfly, 1);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });
});
