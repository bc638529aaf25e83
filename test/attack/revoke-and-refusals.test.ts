import { describe, expect, it } from "vitest";
import * as z from "zod";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { blockOf } from "../../src/machine/ip-range.ts";
import { createCallers } from "../auth/callers.ts";
import { githubClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, LOCAL, machineIn, minutes, mintedIn, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

/** Does something once, when a call of the account is about to need the provider. */
function during(mayfly: Mayfly, account: string, act: () => Promise<unknown>): void {
  let done = false;
  mayfly.configure({
    ACCOUNT_BRAKE: {
      limit: async ({ key }: { key: string }) => {
        if (key === account && !done) {
          done = true;
          await act();
        }
        return { success: true };
      },
    },
  });
}
const mint = async (mayfly: Mayfly, owner: string, more: object = {}) =>
  mintedIn(await mayfly.send("POST", "/v1/tokens", { owner, ...more }));

describe("a token that is revoked while its call is under way", () => {
  it.each([
    ["ssh_keys", { name: "me", public_key: KEY_A }, "ssh_key"],
    ["firewalls", { name: "wall", deny_all: true }, "firewall"],
    ["networks", { name: "net", ip_range: "10.0.0.0/16", region: "fsn1" }, "network"],
  ])("with destroy leaves its owner nothing: %s", async (plural, body) => {
    const mayfly = createMayfly();
    const { id, secret } = await mint(mayfly, "ann");
    during(mayfly, "tok.ann", () => mayfly.send("DELETE", `/v1/tokens/${id}?destroy=true`));
    const answer = await mayfly.send("POST", `/v1/${plural}`, body, secret);
    await minutes(mayfly, 3);
    const { body: listed } = await mayfly.send("GET", `/v1/${plural}?owner=tok.ann`);
    expect([answer.status, listed]).toMatchObject([expect.any(Number), { [plural]: [] }]);
    expect(answer.status).not.toBe(201);
  });

  it("makes nothing: a resumed create neither", async () => {
    const mayfly = createMayfly(LOCAL);
    const { id, secret } = await mint(mayfly, "ann");
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY, secret)).status).toBe(503);
    expect(servers(mayfly)).toEqual([]);
    during(mayfly, "tok.ann", () => mayfly.send("DELETE", `/v1/tokens/${id}`));
    await mayfly.send("PUT", "/v1/machines/box", BODY, secret);
    expect(servers(mayfly)).toEqual([]);
  });

  it("moves no end", async () => {
    const mayfly = createMayfly();
    const { id, secret } = await mint(mayfly, "ann");
    const box = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, secret));
    during(mayfly, "tok.ann", () => mayfly.send("DELETE", `/v1/tokens/${id}`));
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "20h" }, secret);
    const now = machineIn(await mayfly.send("GET", "/v1/machines/box?owner=tok.ann"));
    expect(now.expires_at).toBe(box.expires_at);
  });
});

