import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
import { BODY, createMayfly, LOCAL, mintedIn, minutes, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const KINDS = [
  ["ssh_keys", { name: "me", public_key: KEY_A }],
  ["firewalls", { name: "wall", deny_all: true }],
  ["networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" }],
] as const;
const MACHINES_TOO = [["machines", BODY], ...KINDS] as const;

const annOf = async (mayfly: Mayfly) => mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
/** Everything at the provider. */
const there = (mayfly: Mayfly) => {
  const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
  return [...servers(mayfly), ...firewalls, ...networks, ...ssh_keys];
};

/** Does something once, when ann's call is about to need the provider: after the look at its token. */
function beforeItsWork(mayfly: Mayfly, act: () => Promise<unknown>): void {
  let isDone = false;
  const limit = async ({ key }: { key: string }) => {
    if (key === "tok.ann" && !isDone) {
      isDone = true;
      await act();
    }
    return { success: true };
  };
  mayfly.configure({ ACCOUNT_BRAKE: { limit } });
}

/** Does something once, before the first request to the provider that matches. */
function beforeRequest(mayfly: Mayfly, pattern: RegExp, act: () => Promise<unknown>): void {
  let isDone = false;
  between(mayfly, async (request, real) => {
    if (!isDone && pattern.test(`${request.method} ${new URL(request.url).pathname}`)) {
      isDone = true;
      await act();
    }
    return real(request);
  });
}

describe("a token that is revoked while its call is under way", () => {
  it.each(KINDS)("makes nothing: %s", async (kind, body) => {
    const mayfly = createMayfly();
    const { id, secret } = await annOf(mayfly);
    beforeItsWork(mayfly, () => mayfly.send("DELETE", `/v1/tokens/${id}`));
    expect((await mayfly.send("POST", `/v1/${kind}`, body, secret)).status).toBe(409);
    expect(there(mayfly)).toEqual([]);
    expect((await mayfly.send("POST", `/v1/${kind}`, body, secret)).status).toBe(401);
  });

  it.each(MACHINES_TOO)("finishes nothing that was cut off: %s", async (kind, body) => {
    const mayfly = createMayfly(LOCAL);
    const { id, secret } = await annOf(mayfly);
    const make = () =>
      kind === "machines"
        ? mayfly.send("PUT", "/v1/machines/box", body, secret)
        : mayfly.send("POST", `/v1/${kind}`, body, secret);
    const path = kind === "machines" ? "servers" : kind;
    mayfly.simulator.fault({ method: "POST", path: `^/v1/${path}$`, drop: "before" });
    expect((await make()).status).toBe(503);
    beforeItsWork(mayfly, () => mayfly.send("DELETE", `/v1/tokens/${id}`));
    await make();
    expect(there(mayfly)).toEqual([]);
    expect((await make()).status).toBe(401);
  });

  it("makes no machine without its firewall, nor leaves what it has made for it", async () => {
    const mayfly = createMayfly();
    const { id, secret } = await annOf(mayfly);
    beforeRequest(mayfly, /POST \/v1\/ssh_keys$/, () => mayfly.send("DELETE", `/v1/tokens/${id}`));
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ssh_keys: [KEY_A], firewalls: [RULES] }, secret);
    expect(there(mayfly)).toEqual([]);
  });
});

describe("a token that is revoked with all that its owner has, while its call is under way, leaves nothing", () => {
  it.each(MACHINES_TOO)("where it is about to make %s", async (kind, body) => {
    const mayfly = createMayfly();
    const { id, secret } = await annOf(mayfly);
    beforeItsWork(mayfly, () => mayfly.send("DELETE", `/v1/tokens/${id}?destroy=true`));
    expect((await mayfly.send("POST", `/v1/${kind}`, body, secret)).status).toBe(409);
    await minutes(mayfly, 3);
    expect(there(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", `/v1/${kind}?owner=tok.ann`)).body).toMatchObject({ [kind]: [] });
  });

  const whole = { ...BODY, firewalls: [RULES], ssh_keys: [KEY_A], networks: [{ ip_range: "10.0.0.0/16" }] };
  it.each([
    ["POST /v1/firewalls$", "PUT", "/v1/machines/box", whole],
    ["POST /v1/ssh_keys$", "PUT", "/v1/machines/box", whole],
    ["POST /v1/servers$", "PUT", "/v1/machines/box", whole],
    ["GET /v1/server_types$", "PUT", "/v1/machines/box", { region: "fsn1", arch: "amd64", firewalls: [RULES] }],
    ["POST /v1/ssh_keys$", "POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }],
    ["POST /v1/firewalls$", "POST", "/v1/firewalls", { name: "wall", ...RULES }],
  ])("where the provider is being asked %s for a %s %s", async (pattern, method, path, body) => {
    const mayfly = createMayfly();
    const { id, secret } = await annOf(mayfly);
    beforeRequest(mayfly, new RegExp(pattern), () => mayfly.send("DELETE", `/v1/tokens/${id}?destroy=true`));
    await mayfly.send(method, path, body, secret);
    await minutes(mayfly, 20);
    expect(there(mayfly)).toEqual([]);
    const open = await mayfly.bindings.DB.prepare(
      `SELECT 'machine' AS kind, phase FROM machines WHERE phase NOT IN ('destroyed', 'failed')
       UNION ALL SELECT kind, phase FROM resources WHERE phase NOT IN ('deleted', 'failed')`,
    ).all();
    expect(open.results).toEqual([]);
  });
});
