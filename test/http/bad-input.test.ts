import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { BODY, createMayfly, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

/** Refused by us alone: no provider call, no row, and a problem that says what to mend. */
async function expectRefused(
  mayfly: Mayfly,
  call: [string, string, unknown?, (string | null)?],
  status: number,
  fields: object,
) {
  const [method, path, body, token] = call;
  const answer = await mayfly.send(method, path, body, token === undefined ? env.ADMIN_TOKEN : token);
  expect(answer, `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}`).toMatchObject({
    status,
    body: { status, ...fields },
  });
  expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  expect(answer.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(mayfly.simulator.requests()).toEqual([]);
  const { results } = await mayfly.bindings.DB.prepare("SELECT count(*) AS n FROM machines").all();
  expect(results).toEqual([{ n: 0 }]);
}

const ICMP = { direction: "in", protocol: "icmp" };
const long = (length: number) => "a".repeat(length);

describe("a body that cannot be used", () => {
  const malformed: [string, unknown][] = [
    ["no body", undefined],
    ["blank", "  "],
    ["half JSON", '{"server_type":'],
    ["not JSON", "server_type=cx23"],
  ];
  it.each(malformed)("%s is malformed", async (_what, body) => {
    const mayfly = createMayfly();
    await expectRefused(mayfly, ["PUT", "/v1/machines/a", body], 400, { code: "malformed" });
    await expectRefused(mayfly, ["POST", "/v1/machines", body], 400, { code: "malformed" });
    await expectRefused(mayfly, ["POST", "/v1/tokens", body], 400, { code: "malformed" });
  });

  it.each([
    ["PUT", "/v1/machines/a"],
    ["POST", "/v1/machines"],
    ["POST", "/v1/tokens"],
    ["DELETE", "/v1/machines/a"],
  ])("%s %s: one that its sender breaks off is malformed, and no error of ours", async (method, path) => {
    const mayfly = createMayfly();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"server_type":')),
      pull: (controller) => controller.error(new Error("Network connection lost.")),
    });
    const headers = { Authorization: `Bearer ${env.ADMIN_TOKEN}` };
    const answer = await mayfly.app.request(path, { method, headers, body }, mayfly.bindings, createExecutionContext());
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "malformed", detail: "The body broke off before its end." });
    expect(mayfly.logs).toMatchObject([{ event: "request", status: 400, outcome: "malformed" }]);
    expect(mayfly.simulator.requests()).toEqual([]);
  });

  it("larger than any cloud-init needs is too large", async () => {
    const body = JSON.stringify({ ...BODY, cloud_init: long(300_000) });
    await expectRefused(createMayfly(), ["PUT", "/v1/machines/a", body], 413, { code: "too_large" });
  });

  const invalid: [string, unknown, string][] = [
    ["an array", [], "body"],
    ["text", '"cx23"', "body"],
    ["null", "null", "body"],
    ["no server_type", { region: "fsn1" }, "server_type"],
    ["no region", { server_type: "cx23" }, "region"],
    ["an empty region", { ...BODY, region: "" }, "region"],
    ["an empty list of types", { ...BODY, server_type: [] }, "server_type"],
    ["too many regions", { ...BODY, region: ["a", "b", "c", "d", "e", "f", "g"] }, "region"],
    ["a list that holds no name", { ...BODY, region: ["fsn1", 1] }, "region"],
    ["a type with a slash", { ...BODY, server_type: "../x" }, "server_type"],
    ["an image that is none", { ...BODY, image: true }, "image"],
    ["an empty image", { ...BODY, image: "" }, "image"],
    ["a ttl in words", { ...BODY, ttl: "soon" }, "ttl"],
    ["a misspelt field beside one that is wrong", { ...BODY, ttl: "soon", tll: "1h" }, "tll"],
    ["a ttl as a number", { ...BODY, ttl: 60 }, "ttl"],
    ["a ttl too short", { ...BODY, ttl: "59s" }, "ttl"],
    ["a ttl beyond MAX_AGE", { ...BODY, ttl: "25h" }, "ttl"],
    ["a ttl out of all bounds", { ...BODY, ttl: "999999999d" }, "ttl"],
    ["labels as a list", { ...BODY, labels: ["a"] }, "labels"],
    ["a label that is no text", { ...BODY, labels: { a: 1 } }, "labels.a"],
    ["a label value too long", { ...BODY, labels: { a: long(64) } }, "labels.a"],
    ["a label value with a colon", { ...BODY, labels: { a: "b:c" } }, "labels.a"],
    ["a label key that is none", { ...BODY, labels: { "-a": "b" } }, "labels.-a"],
    [
      "a label key of JavaScript's own",
      '{"server_type":"cx23","region":"fsn1","labels":{"__proto__":"x"}}',
      "__proto__",
    ],
    ["a label of ours", { ...BODY, labels: { "mayfly-owner": "bob" } }, "labels.mayfly-owner"],
    ["the label that the reaper reads", { ...BODY, labels: { created: "1" } }, "labels.created"],
    ["a label that the provider reserves", { ...BODY, labels: { "hetzner.cloud/a": "b" } }, "labels.hetzner.cloud/a"],
    ["cloud-init that is no text", { ...BODY, cloud_init: {} }, "cloud_init"],
    ["cloud-init one byte too long", { ...BODY, cloud_init: long(32_769) }, "cloud_init"],
    ["cloud-init too long in bytes only", { ...BODY, cloud_init: "é".repeat(16_385) }, "cloud_init"],
    [
      "cloud-init that UTF-8 cannot hold",
      `{"server_type":"cx23","region":"fsn1","cloud_init":"\\ud800"}`,
      "cloud_init",
    ],
    ["no way to reach it", { ...BODY, enable_ipv4: false, enable_ipv6: false }, "enable_ipv6"],
    ["a flag that is none", { ...BODY, enable_ipv4: "no" }, "enable_ipv4"],
    ["a misspelt field", { ...BODY, TTL: "10m" }, "TTL"],
    ["a field of another cloud", { ...BODY, location: "fsn1" }, "location"],
    ["a key that is none", { ...BODY, ssh_keys: ["ssh-ed25519 AAAA me"] }, "ssh_keys.0"],
    ["a key by a name that nobody can have", { ...BODY, ssh_keys: ["Me"] }, "ssh_keys.0"],
    ["a key that its owner has not", { ...BODY, ssh_keys: ["mine"] }, "ssh_keys.0"],
    ["eleven keys", { ...BODY, ssh_keys: Array.from({ length: 11 }, () => "a") }, "ssh_keys"],
    ["a firewall without a rule", { ...BODY, firewalls: [{ rules: [] }] }, "firewalls.0.rules"],
    [
      "a firewall with rules that is to let nothing in",
      { ...BODY, firewalls: [{ rules: [ICMP], deny_all: true }] },
      "firewalls.0.deny_all",
    ],
    ["a port as a number", { ...BODY, firewalls: [{ rules: [{ ...ICMP, port: 22 }] }] }, "firewalls.0.rules.0.port"],
    [
      "a misspelt field of a rule",
      { ...BODY, firewalls: [{ rules: [{ ...ICMP, prt: "1" }] }] },
      "firewalls.0.rules.0.prt",
    ],
    [
      "an empty list of sources",
      { ...BODY, firewalls: [{ rules: [{ ...ICMP, source_ips: [] }] }] },
      "firewalls.0.rules.0.source_ips",
    ],
    ["a firewall of another's id", { ...BODY, firewalls: ["key_1"] }, "firewalls.0"],
    [
      "a rule with the addresses of the other side",
      { ...BODY, firewalls: [{ rules: [{ direction: "in", protocol: "icmp", destination_ips: ["::/0"] }] }] },
      "firewalls.0.rules.0.destination_ips",
    ],
    [
      "a rule with an address that is none",
      { ...BODY, firewalls: [{ rules: [{ direction: "out", protocol: "icmp", destination_ips: ["x"] }] }] },
      "firewalls.0.rules.0.destination_ips",
    ],
    [
      "an IPv6 range with host bits",
      { ...BODY, firewalls: [{ rules: [{ ...ICMP, source_ips: ["2001:db8::1/64"] }] }] },
      "firewalls.0.rules.0.source_ips",
    ],
    [
      "a port with a leading zero",
      { ...BODY, firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: "022" }] }] },
      "firewalls.0.rules.0.port",
    ],
    [
      "a port for gre",
      { ...BODY, firewalls: [{ rules: [{ ...ICMP, protocol: "gre", port: "1" }] }] },
      "firewalls.0.rules.0.port",
    ],
    [
      "a description too long",
      { ...BODY, firewalls: [{ rules: [{ ...ICMP, description: long(256) }] }] },
      "firewalls.0.rules.0.description",
    ],
    ["a network that is public", { ...BODY, networks: [{ ip_range: "8.8.8.0/24" }] }, "networks.0.ip_range"],
    ["four networks", { ...BODY, networks: ["a", "b", "c", "d"] }, "networks"],
    [
      "six things to be made with it",
      { ...BODY, networks: [], firewalls: [], ssh_keys: Array.from({ length: 6 }, () => KEY_A) },
      "ssh_keys.5",
    ],
    [
      "a firewall where nothing is public",
      { ...BODY, enable_ipv4: false, enable_ipv6: false, networks: ["a"], firewalls: ["b"] },
      "firewalls",
    ],
    ["an arch beside a type", { ...BODY, arch: "arm64" }, "arch"],
    ["an arch that is none", { region: "fsn1", arch: "x86" }, "arch"],
    ["an arch without a region", { arch: "arm64" }, "region"],
    ["a profile, which comes later", { ...BODY, profile: "small" }, "profile"],
    ["keep_on_failure too short", { ...BODY, keep_on_failure: "1s" }, "keep_on_failure"],
    ["keep_on_failure beyond MAX_AGE", { ...BODY, keep_on_failure: "25h" }, "keep_on_failure"],
  ];
  it.each(invalid)("%s is invalid input that names the field", async (_what, body, field) => {
    await expectRefused(createMayfly(), ["PUT", "/v1/machines/a", body], 422, { code: "invalid_input", field });
  });
});

describe("a name, id or query that breaks a rule", () => {
  it.each(["A", "a_b", "-a", "a-", "a.b", "ä", long(64), "a%00b", "a%2Fb", "%F0%9F%92%A9", "mch_1", "%zz"])(
    "S23, S24: the name %s is refused",
    async (name) => {
      await expectRefused(createMayfly(), ["PUT", `/v1/machines/${name}`, BODY], 422, { field: "name" });
    },
  );
  it.each(["mch_", "mch_1", "mch_00000000-0000-4000-8000-00000000000G", "A", "..%2F"])(
    "the ref %s is refused",
    async (ref) => {
      await expectRefused(createMayfly(), ["GET", `/v1/machines/${ref}`], 422, { field: "ref" });
      await expectRefused(createMayfly(), ["DELETE", `/v1/machines/${ref}`], 422, { field: "ref" });
    },
  );
  const queries: [string, string][] = [
    ["page=0", "page"],
    ["page=-1", "page"],
    ["page=1.5", "page"],
    ["page=a", "page"],
    ["page=1&page=2", "page"],
    ["page=99999999999999999999", "page"],
    ["per_page=51", "per_page"],
    ["per_page=", "per_page"],
    ["status=sleeping", "status"],
    ["status=running&status=nope", "status"],
    ["label_selector=a=b=c", "label_selector"],
    ["label_selector=a%20in%20(", "label_selector"],
    ["label_selector=mayfly-owner=bob", "label_selector"],
    ["label_selector=a,,b", "label_selector"],
    ["owner=Bob", "owner"],
    ["owner=", "owner"],
    [`owner=${long(64)}`, "owner"],
  ];
  it.each(queries)("the query %s is refused", async (query, field) => {
    await expectRefused(createMayfly(), ["GET", `/v1/machines?${query}`], 422, { code: "invalid_input", field });
  });
  it("a parameter that a call does not take, or takes otherwise, is refused by name, and nothing is destroyed", async () => {
    const mayfly = createMayfly();
    const calls: [string, string, unknown, string][] = [
      ["PUT", "/v1/machines/a?wait=31", BODY, "wait"],
      ["POST", "/v1/machines?wait=-1", BODY, "wait"],
      ["GET", "/v1/machines/a?wait=1.5", undefined, "wait"],
      ["PUT", "/v1/machines/a?dry_run=true", BODY, "dry_run"],
      ["DELETE", "/v1/machines/a?outcome=maybe", undefined, "outcome"],
      ["DELETE", "/v1/machines/a?tombstone=soon", undefined, "tombstone"],
      ["DELETE", "/v1/machines/a?tombstone=2d", undefined, "tombstone"],
      ["DELETE", "/v1/machines/a?dry_run=true", undefined, "dry_run"],
      ["DELETE", "/v1/machines", undefined, "label_selector"],
      ["DELETE", "/v1/machines?label_selector=", undefined, "label_selector"],
      ["DELETE", "/v1/machines?label_selector=a&dry_run=maybe", undefined, "dry_run"],
      ["DELETE", "/v1/machines?label_selector=a&force=true", undefined, "force"],
      ["POST", "/v1/machines/A/renew", { ttl: "5m" }, "ref"],
      ["GET", "/v1/machines?label_selectr=a", undefined, "label_selectr"],
      ["GET", "/v1/machines?status[]=running", undefined, "status[]"],
      ["GET", "/v1/sweeps?since=1", undefined, "since"],
      ["POST", "/v1/sweeps?dry_run=true", undefined, "dry_run"],
      ["POST", "/v1/tokens?expires_in=1h", { owner: "x" }, "expires_in"],
      ["DELETE", "/v1/tokens/a?dry_run=true", undefined, "dry_run"],
      ["DELETE", "/v1/tokens/a?destroy=1", undefined, "destroy"],
      ["GET", "/v1/tokens?owner=a", undefined, "owner"],
    ];
    for (const [method, path, body, field] of calls)
      await expectRefused(mayfly, [method, path, body], 422, { code: "invalid_input", field });
  });
  it("a body that is not UTF-8 is malformed, and one that is not JSON is not quoted back", async () => {
    const mayfly = createMayfly();
    const send = (body: BodyInit) =>
      mayfly.app.request(
        "/v1/machines/a",
        { method: "PUT", headers: { Authorization: `Bearer ${env.ADMIN_TOKEN}` }, body },
        mayfly.bindings,
        createExecutionContext(),
      );
    const bytes = await send(new Uint8Array([...new TextEncoder().encode('{"server_type":"'), 0xff, 0xfe]));
    expect([bytes.status, await bytes.json()]).toMatchObject([
      400,
      { code: "malformed", detail: "The body is not UTF-8." },
    ]);
    const quoted = await send('{"server_type":"cx23","cloud_init":pw hunter2SECRET');
    expect([quoted.status, (await quoted.text()).includes("hunter2")]).toEqual([400, false]);
  });
  it("a token's owner or life that breaks a rule is refused", async () => {
    const bodies: [object, string][] = [
      [{}, "owner"],
      [{ owner: "Alice" }, "owner"],
      [{ owner: "tok.alice" }, "owner"],
      [{ owner: long(60) }, "owner"],
      [{ owner: "a", expires_in: "0s" }, "expires_in"],
      [{ owner: "a", expires_in: "367d" }, "expires_in"],
      [{ owner: "a", expires_in: 5 }, "expires_in"],
      [{ owner: "a", policy: 5 }, "policy"],
      [{ owner: "a", note: null }, "note"],
    ];
    for (const [body, field] of bodies)
      await expectRefused(createMayfly(), ["POST", "/v1/tokens", body], 422, { field });
    await expectRefused(createMayfly(), ["POST", "/v1/tokens", { owner: "a", expires: "1h" }], 422, {
      field: "expires",
    });
    await expectRefused(createMayfly(), ["POST", "/v1/sweeps", { dry_run: "yes" }], 422, { field: "dry_run" });
    await expectRefused(createMayfly(), ["POST", "/v1/sweeps", { dryrun: true }], 422, { field: "dryrun" });
    await expectRefused(createMayfly(), ["POST", "/v1/sweeps", "{"], 400, { code: "malformed" });
  });
});

describe("a caller who is nobody", () => {
  it("is told so before anything else is looked at", async () => {
    const mayfly = createMayfly();
    for (const token of [null, "wrong", `${env.ADMIN_TOKEN}2`, env.ADMIN_TOKEN.slice(0, -1), ""]) {
      await expectRefused(mayfly, ["PUT", "/v1/machines/A", "{", token], 401, { code: "unauthorized" });
      await expectRefused(mayfly, ["GET", "/v1/nothing", undefined, token], 401, { code: "unauthorized" });
    }
  });
  it("is answered with WWW-Authenticate, whatever the header holds", async () => {
    const { app, bindings } = createMayfly();
    for (const header of ["Basic YTpi", "Bearer", "Bearer  ", "bearer a b", `Bearer ${long(9000)}`, env.ADMIN_TOKEN]) {
      const headers = { Authorization: header };
      const response = await app.request("/v1/machines", { headers }, bindings, createExecutionContext());
      expect(response.status, header).toBe(401);
      expect(response.headers.get("WWW-Authenticate")).toBe("Bearer");
    }
  });
});

describe("a path or method that is none", () => {
  it("is not found, or not allowed with what is", async () => {
    const mayfly = createMayfly();
    await expectRefused(mayfly, ["GET", "/v1/nothing"], 404, { code: "not_found" });
    await expectRefused(mayfly, ["GET", "/"], 404, { code: "not_found" });
    await expectRefused(mayfly, ["PUT", "/v1/machines"], 405, { code: "method_not_allowed" });
    await expectRefused(mayfly, ["PATCH", "/v1/machines/a", {}], 405, { code: "method_not_allowed" });
    await expectRefused(mayfly, ["POST", "/healthz", {}], 405, { code: "method_not_allowed" });
    const refused = await mayfly.send("PUT", "/v1/machines");
    expect(refused.headers.get("Allow")).toBe("POST, GET, DELETE");
  });
});
