import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as z from "zod";
import { describe, expect, it } from "vitest";
import { createMayfly, type Mayfly } from "../mayfly.ts";

const whoami = async (mayfly: Mayfly, query = "", token?: string) => {
  const { status, body } = await mayfly.send("GET", `/v1/whoami${query}`, undefined, token);
  expect(status).toBe(200);
  return z.object({ whoami: z.record(z.string(), z.unknown()) }).parse(body).whoami;
};
const ANY = {
  name: "default",
  source: "built in",
  may: ["machines", "ssh_keys", "firewalls", "networks", "snapshots"],
  machines: null,
  longest: "1d",
  server_types: null,
  regions: null,
  images: null,
  profiles: [],
  firewalls: [],
  networks: [],
  only_profiles: false,
  cloud_init: true,
  needs_firewall: false,
  eur_per_hour: null,
  eur_per_month: null,
  unknown_price: false,
};

describe("GET /v1/whoami", () => {
  it("tells an admin who it is, and what it may where nothing is configured", async () => {
    const mayfly = createMayfly();
    expect(await whoami(mayfly)).toEqual({
      kind: "admin",
      owner: "admin",
      account: "admin",
      policy: ANY,
      evidence: { by: "admin_token" },
      address: null,
    });
  });

  it("tells the holder of a token which token it is, and not its secret", async () => {
    const mayfly = createMayfly();
    const secret = await mayfly.tokenOf("alice");
    const listed = await mayfly.send("GET", "/v1/tokens");
    const { tokens } = z.object({ tokens: z.array(z.object({ id: z.string() })) }).parse(listed.body);
    const told = await whoami(mayfly, "", secret);
    expect(told).toMatchObject({
      kind: "token",
      owner: "tok.alice",
      account: "tok.alice",
      policy: { ...ANY, machines: 99_999 },
      evidence: { by: "token", id: tokens[0]?.id },
    });
    expect(JSON.stringify(told)).not.toContain(secret);
  });

  it("tells a policy in the configuration's words and units, and the profiles that may be named", async () => {
    const policy = {
      name: "default",
      may: ["machines", "ssh_keys"] as const,
      longest: "90m",
      server_types: ["cx*"],
      regions: ["fsn1", "nbg1"],
      images: ["debian-*"],
      profiles: ["s*"],
      firewalls: ["id:4711"],
      networks: ["id:815", "id:816"],
      only_profiles: true,
      cloud_init: false,
      needs_firewall: true,
    };
    const profiles = { small: { cloud_init: "#!canary" }, large: {}, spot: {} };
    const mayfly = createMayfly({}, { policies: [{ ...policy, may: [...policy.may] }], profiles });
    const told = await whoami(mayfly);
    expect(told).toMatchObject({
      policy: { ...policy, profiles: ["small", "spot"], source: "policies[0] in mayfly.config.ts" },
    });
    expect(JSON.stringify(told)).not.toContain("canary");
  });

  it("tells what the machines of an account may cost, in euro", async () => {
    const policies = [{ name: "default", eur_per_hour: 0.5, eur_per_month: 12.34 }];
    const mayfly = createMayfly({}, { policies });
    const told = await whoami(mayfly, "", await mayfly.tokenOf("alice"));
    expect(told).toMatchObject({ policy: { eur_per_hour: 0.5, eur_per_month: 12.34 } });
  });

  it("names MAX_AGE as the longest lease where the policy names none, or one that is longer", async () => {
    expect(await whoami(createMayfly({ MAX_AGE: "2h" }))).toMatchObject({ policy: { longest: "2h" } });
    const longer = createMayfly({ MAX_AGE: "2h" }, { policies: [{ name: "default", longest: "3d" }] });
    expect(await whoami(longer)).toMatchObject({ policy: { longest: "2h" } });
  });

  it("tells an admin of the owner that it names, under the admin's own policy; nobody else may ask for others", async () => {
    const mayfly = createMayfly();
    expect(await whoami(mayfly, "?owner=gh.123.456")).toMatchObject({
      kind: "admin",
      owner: "gh.123.456",
      account: "gh.123",
      policy: { name: "default" },
      evidence: { by: "admin_token" },
    });
    const alice = await mayfly.tokenOf("alice");
    expect(await mayfly.send("GET", "/v1/whoami?owner=tok.bob", undefined, alice)).toMatchObject({ status: 403 });
    expect(await mayfly.send("GET", "/v1/whoami", undefined, null)).toMatchObject({ status: 401 });
    expect(await mayfly.send("GET", "/v1/whoami?user=x")).toMatchObject({ status: 422 });
  });

  it("asks nobody", async () => {
    const mayfly = createMayfly();
    await whoami(mayfly, "", await mayfly.tokenOf("alice"));
    expect(mayfly.simulator.requests()).toEqual([]);
    expect(await mayfly.send("POST", "/v1/whoami", {})).toMatchObject({ status: 405 });
  });

  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["2001:db8::7", "2001:db8::7"],
    ["203.0.113.7, 198.51.100.1", null],
    ["<script>", null],
    ["", null],
  ])("tells the caller's address as the edge sees it: %s", async (header, address) => {
    const { app, bindings } = createMayfly();
    const headers = { Authorization: `Bearer ${env.ADMIN_TOKEN}`, "CF-Connecting-IP": header };
    const context = createExecutionContext();
    const response = await app.request("/v1/whoami", { headers }, bindings, context);
    await waitOnExecutionContext(context);
    expect(await response.json()).toMatchObject({ whoami: { address } });
  });
});
