import { describe, expect, it } from "vitest";
import { brakeOn } from "../brakes.ts";
import { createCallers } from "../auth/callers.ts";
import { githubClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, mintedIn, minutes, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const FIREWALL = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };

/** Does something once, before the first request to the provider that matches. */
function before(mayfly: Mayfly, pattern: RegExp, act: () => Promise<unknown>): void {
  const { fetch } = mayfly.runtime;
  let done = false;
  Object.assign(mayfly.runtime, {
    fetch: async (input: string, init: RequestInit) => {
      if (!done && pattern.test(`${init.method} ${new URL(input).pathname}`)) {
        done = true;
        await act();
      }
      return fetch(input, init);
    },
  });
}

describe("a token that is revoked with destroy while the provider is asked", () => {
  it.each([
    ["POST /v1/firewalls$", "PUT", "/v1/machines/box", { ...BODY, firewalls: [FIREWALL], ssh_keys: [KEY_A], networks: [{ ip_range: "10.0.0.0/16" }] }],
    ["POST /v1/ssh_keys$", "PUT", "/v1/machines/box", { ...BODY, firewalls: [FIREWALL], ssh_keys: [KEY_A] }],
    ["POST /v1/servers$", "PUT", "/v1/machines/box", { ...BODY, firewalls: [FIREWALL], ssh_keys: [KEY_A] }],
    ["POST /v1/ssh_keys$", "POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }],
    ["POST /v1/firewalls$", "POST", "/v1/firewalls", { name: "wall", ...FIREWALL }],
    ["GET /v1/server_types$", "PUT", "/v1/machines/box", { region: "fsn1", arch: "amd64", firewalls: [FIREWALL] }],
  ])("leaves nothing: %s of %s %s", async (pattern, method, path, body) => {
    const mayfly = createMayfly();
    const { id, secret } = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
    before(mayfly, new RegExp(pattern), () => mayfly.send("DELETE", `/v1/tokens/${id}?destroy=true`));
    await mayfly.send(method, path, body, secret);
    await minutes(mayfly, 20);
    const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
    expect([servers(mayfly), firewalls, networks, ssh_keys]).toEqual([[], [], [], []]);
    const open = await mayfly.bindings.DB.prepare("SELECT 'm' AS kind, phase FROM machines WHERE phase NOT IN ('destroyed','failed') UNION ALL SELECT kind, phase FROM resources WHERE phase NOT IN ('deleted','failed')").all();
    expect(open.results).toEqual([]);
  });
});

describe("the brake of accounts", () => {
  it("lets jobs of one policy not use up what jobs of another policy of the same repository may ask", async () => {
    const callers = await createCallers({
      configuration: {
        policies: [
          { name: "main", issuer: "github", claims: { repository_id: "74", ref: "refs/heads/main" }, owner: "repository" },
          { name: "pulls", issuer: "github", claims: { repository_id: "74", ref: "refs/pull/**" } },
        ],
      },
    });
    const { mayfly, sign, ask } = callers;
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 60) });
    expect((await ask(githubClaims())).status).toBe(201);
    const pull = await sign(githubClaims({ ref: "refs/pull/7/merge", event_name: "pull_request", run_id: "7" }));
    for (let call = 0; call < 70; call++) await mayfly.send("PUT", "/v1/machines/none", { ...BODY, image: "4711" }, pull);
    const main = await sign(githubClaims());
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" }, main)).status).toBe(200);
  });
});
