import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createCallers } from "../auth/callers.ts";
import { githubClaims } from "../auth/issuer.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, HOUR, LOCAL, machineIn, MINUTE, minutes, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";

/** A mayfly whose brakes count by its clock. */
function braked(rates: { address?: number; account?: number }) {
  const mayfly = createMayfly();
  const byAddress = brakeOn(mayfly.now, rates.address ?? 600);
  const byAccount = brakeOn(mayfly.now, rates.account ?? 60);
  mayfly.configure({ ADDRESS_BRAKE: byAddress, ACCOUNT_BRAKE: byAccount });
  return { mayfly, byAddress, byAccount };
}

/** Uses up what an account may still ask for in this minute. */
async function useUp(mayfly: Mayfly, token: string): Promise<void> {
  const unknown = { server_type: "cx23", region: "fsn1", image: "4711" };
  for (let call = 0; call < 100; call++)
    if ((await mayfly.send("PUT", "/v1/machines/nothing", unknown, token)).status === 429) return;
  throw new Error("there is no end to it");
}

const lastLog = ({ logs }: Mayfly) => logs.findLast(({ event }) => event === "request");

describe("too many calls from one address", () => {
  it("are refused before the database is asked for a token, whatever the token, until the minute is over", async () => {
    const { mayfly } = braked({ address: 2 });
    mayfly.callFrom("203.0.113.7");
    for (const token of ["wrong", "wrong too"])
      expect((await mayfly.send("GET", "/v1/machines", undefined, token)).status).toBe(401);
    const refused = await mayfly.send("GET", "/v1/machines");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("Retry-After")).toBe("60");
    expect(refused.body).toMatchObject({
      code: "limit_rate",
      rule: "must leave time between calls from one address",
      next: "Repeat the same call in a minute.",
    });
    expect(lastLog(mayfly)).toMatchObject({ status: 429, outcome: "limit_rate", statements: 0, fetches: 0 });
    expect((await mayfly.send("GET", "/healthz", undefined, null)).status).toBe(429);

    mayfly.callFrom("203.0.113.8");
    expect((await mayfly.send("GET", "/v1/machines")).status).toBe(200);
    mayfly.callFrom("203.0.113.7");
    mayfly.advance(MINUTE);
    expect((await mayfly.send("GET", "/v1/machines")).status).toBe(200);
  });

  it("never keep an event from being looked at: its sender's addresses are shared, and it does not come again", async () => {
    const { mayfly } = braked({ address: 1 });
    mayfly.callFrom("203.0.113.7");
    expect((await mayfly.send("GET", "/healthz", undefined, null)).status).toBe(200);
    expect((await mayfly.send("GET", "/healthz", undefined, null)).status).toBe(429);
    expect((await mayfly.send("POST", "/v1/hooks/none", {}, null)).status).toBe(404);
    expect(lastLog(mayfly)).toMatchObject({ status: 404, statements: 0, fetches: 0 });
    expect((await mayfly.send("GET", "/v1/hooks", undefined, null)).status).toBe(429);
  });

  it("never keep machines from being ended, nor an admin from an emergency's calls", async () => {
    const { mayfly } = braked({ address: 2 });
    mayfly.callFrom("203.0.113.7");
    const token = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", BODY, token);
    expect((await mayfly.send("GET", "/v1/machines/box", undefined, token)).status).toBe(429);
    const [minted] = await mayfly.bindings.DB.prepare("SELECT id FROM tokens").raw<[string]>();
    expect((await mayfly.send("DELETE", "/v1/machines/box", undefined, token)).status).toBe(200);
    for (const [method, path, status, body] of [
      ["DELETE", "/v1/machines?label_selector=run", 200],
      ["DELETE", "/v1/firewalls/none", 204],
      ["POST", "/v1/reap", 200, { label_selector: "run", older_than: "3h" }],
      ["POST", "/v1/teardown", 202, {}],
      ["POST", "/v1/sweeps", 200],
      ["POST", "/v1/holds/blast_cap/release", 200],
      ["DELETE", `/v1/tokens/${minted?.[0]}`, 200],
    ] as const)
      expect([path, (await mayfly.send(method, path, body)).status]).toEqual([path, status]);
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/releases")).status).toBe(429);
  });

  it("count together where they come from one IPv6 network", async () => {
    const { mayfly } = braked({ address: 1 });
    const from = async (address: string) => {
      mayfly.callFrom(address);
      return (await mayfly.send("GET", "/healthz", undefined, null)).status;
    };
    expect(await from("2001:db8:0:7::1")).toBe(200);
    expect(await from("2001:db8:0:7:a:b:c:d")).toBe(429);
    expect(await from("2001:db8:0:8::1")).toBe(200);
  });

  it("are nobody's where no address is told", async () => {
    const { mayfly, byAddress } = braked({ address: 0 });
    expect((await mayfly.send("GET", "/v1/machines")).status).toBe(200);
    expect(byAddress.keys).toEqual([]);
  });
});

describe("too many calls of an account that need the provider", () => {
  it("are refused before the provider is asked or anything is written down; other accounts go on", async () => {
    const { mayfly } = braked({ account: 3 });
    const ann = await mayfly.tokenOf("ann");
    const bob = await mayfly.tokenOf("bob");
    await mayfly.send("PUT", "/v1/machines/box", BODY, ann);
    const wall = { name: "wall", deny_all: true };
    expect((await mayfly.send("POST", "/v1/firewalls", wall, ann)).status).toBe(201);
    await useUp(mayfly, ann);
    const before = await everything();

    for (const [method, path, body] of [
      ["PUT", "/v1/machines/other", BODY],
      ["POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }],
      ["POST", "/v1/firewalls/wall/apply_to_resources", { machines: ["box"] }],
      ["POST", "/v1/firewalls/wall/remove_from_resources", { machines: ["box"] }],
    ] as const) {
      const refused = await mayfly.send(method, path, body, ann);
      expect([path, refused.status, refused.headers.get("Retry-After")]).toEqual([path, 429, "60"]);
      expect(refused.body).toMatchObject({
        code: "limit_rate",
        policy: "default",
        rule: "must leave time between calls of an account that need the provider",
      });
      expect(refused.body).toHaveProperty("next");
      expect(lastLog(mayfly)).toMatchObject({ fetches: 0 });
    }
    expect(await everything()).toEqual(before);
    expect(servers(mayfly)).toHaveLength(1);

    expect((await mayfly.send("PUT", "/v1/machines/box", BODY, bob)).status).toBe(201);
    mayfly.advance(MINUTE);
    expect((await mayfly.send("PUT", "/v1/machines/other", BODY, ann)).status).toBe(201);
  });

  it("renew all the same: the label is left to the sweep, which the next one writes", async () => {
    const { mayfly } = braked({ account: 1 });
    const ann = await mayfly.tokenOf("ann");
    const box = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann));
    const labelled = () => Number(servers(mayfly)[0]?.labels?.["mayfly-expires"]) * 1000;
    const renewed = machineIn(await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" }, ann));
    expect(Date.parse(renewed.expires_at)).toBe(mayfly.now() + 3 * HOUR);
    expect(lastLog(mayfly)).toMatchObject({ status: 200, outcome: "renewed", fetches: 0 });
    expect(labelled()).toBe(Date.parse(box.expires_at));
    await minutes(mayfly, 1);
    expect(labelled()).toBe(Date.parse(renewed.expires_at));
  });

  it("let jobs of one policy not use up what jobs of another of the same repository need to keep their machines", async () => {
    const [main, pulls] = ["refs/heads/main", "refs/pull/**"].map((ref) => ({ repository_id: "74", ref }));
    const { mayfly, sign, ask } = await createCallers({
      configuration: {
        policies: [
          { name: "main", issuer: "github", claims: main, owner: "repository" },
          { name: "pulls", issuer: "github", claims: pulls },
        ],
      },
    });
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 60) });
    expect((await ask(githubClaims())).status).toBe(201);
    await useUp(
      mayfly,
      await sign(githubClaims({ ref: "refs/pull/7/merge", event_name: "pull_request", run_id: "7" })),
    );
    const job = await sign(githubClaims());
    expect((await mayfly.send("PUT", "/v1/machines/other", BODY, job)).status).toBe(429);
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" }, job)).status).toBe(200);
  });

  it("have changed nothing where they ask again for a key whose making was cut off and whose lease has ended", async () => {
    const mayfly = createMayfly(LOCAL);
    const ann = await mayfly.tokenOf("ann");
    const key = { name: "me", public_key: KEY_A, ttl: "60s" };
    mayfly.simulator.fault({ method: "POST", path: "^/v1/ssh_keys$", drop: "before" });
    expect((await mayfly.send("POST", "/v1/ssh_keys", key, ann)).status).toBe(503);
    mayfly.advance(2 * MINUTE);
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0) });
    const before = await everything();
    expect((await mayfly.send("POST", "/v1/ssh_keys", key, ann)).status).toBe(429);
    expect(await everything()).toEqual(before);
  });

  it("have changed nothing where they take a firewall off that is to be deleted, under a policy that needs one", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "default", needs_firewall: true }] });
    const ann = await mayfly.tokenOf("ann");
    for (const name of ["web", "ssh"]) await mayfly.send("POST", "/v1/firewalls", { name, deny_all: true }, ann);
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web", "ssh"] }, ann);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect((await mayfly.send("DELETE", "/v1/firewalls/web", undefined, ann)).status).toBe(202);
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0) });
    const before = await everything();
    const off = await mayfly.send("POST", "/v1/firewalls/web/remove_from_resources", { machines: ["box"] }, ann);
    expect(off.status).toBe(429);
    expect(await everything()).toEqual(before);
  });

  it("are refused where they would go on with what was cut off, too", async () => {
    const { mayfly } = braked({ account: 5 });
    const ann = await mayfly.tokenOf("ann");
    const calls = [
      ["PUT", "/v1/machines/box", BODY],
      ["POST", "/v1/firewalls", { name: "wall", deny_all: true }],
    ] as const;
    for (const path of ["^/v1/servers$", "^/v1/firewalls$"])
      mayfly.simulator.fault({ method: "POST", path, drop: "before" });
    for (const [method, path, body] of calls)
      expect([path, (await mayfly.send(method, path, body, ann)).status]).toEqual([path, 503]);
    await useUp(mayfly, ann);
    const before = await everything();
    for (const [method, path, body] of calls) {
      expect([path, (await mayfly.send(method, path, body, ann)).status]).toEqual([path, 429]);
      expect(lastLog(mayfly)).toMatchObject({ fetches: 0 });
    }
    expect(await everything()).toEqual(before);
    mayfly.advance(MINUTE);
    for (const [method, path, body] of calls)
      expect([path, (await mayfly.send(method, path, body, ann)).status]).toEqual([path, 200]);
  });

  it("are answered from the database where they read", async () => {
    const { mayfly } = braked({ account: 1 });
    const ann = await mayfly.tokenOf("ann");
    expect((await mayfly.send("GET", "/v1/server_types", undefined, ann)).status).toBe(200);
    mayfly.advance(MINUTE);
    await mayfly.send("PUT", "/v1/machines/box", BODY, ann);
    mayfly.advance(MINUTE);
    await mayfly.send("PUT", "/v1/machines/other", BODY, ann);
    // Older than what is answered without asking.
    mayfly.advance(20 * MINUTE);
    await useUp(mayfly, ann);
    await mayfly.send("GET", "/v1/machines/other", undefined, ann);
    expect(lastLog(mayfly)).toMatchObject({ fetches: 1 });
    for (const path of ["/v1/machines/box", "/v1/machines/box?wait=6", "/v1/machines", "/v1/server_types"]) {
      expect([path, (await mayfly.send("GET", path, undefined, ann)).status]).toEqual([path, 200]);
      expect(lastLog(mayfly)).toMatchObject({ fetches: 0 });
    }
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box", undefined, ann)).status).toBe("creating");
    mayfly.advance(MINUTE);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box", undefined, ann)).status).toBe("running");
  });

  it("that only look at machines are counted by themselves: whoever watches many can make one more", async () => {
    const { mayfly } = braked({ account: 3 });
    const ann = await mayfly.tokenOf("ann");
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) {
      await mayfly.send("PUT", `/v1/machines/${name}`, BODY, ann);
      mayfly.advance(MINUTE);
    }
    const looked: unknown[] = [];
    for (const name of names) {
      await mayfly.send("GET", `/v1/machines/${name}`, undefined, ann);
      looked.push(Reflect.get(lastLog(mayfly) ?? {}, "fetches"));
    }
    expect(looked).toEqual([1, 1, 1, 0, 0]);
    expect((await mayfly.send("PUT", "/v1/machines/one-more", BODY, ann)).status).toBe(201);
  });

  it("refuse a catalogue only where none is known", async () => {
    const { mayfly } = braked({ account: 0 });
    const refused = await mayfly.send("GET", "/v1/pricing?region=fsn1&server_type=cx23");
    expect([refused.status, refused.body]).toMatchObject([429, { code: "limit_rate" }]);
  });

  it("are written down where they end something, and left to the sweep", async () => {
    const { mayfly } = braked({ account: 12 });
    const ann = await mayfly.tokenOf("ann");
    const labels = { run: "7" };
    for (const name of ["one", "two", "three", "four"])
      await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, labels: name === "one" ? {} : labels }, ann);
    await mayfly.send("PUT", "/v1/machines/kept", { ...BODY, keep_on_failure: "2h" }, ann);
    for (const name of ["wall", "fence"])
      await mayfly.send("POST", "/v1/firewalls", { name, deny_all: true, ttl: "4h" }, ann);
    await useUp(mayfly, ann);
    const kept = await mayfly.send("DELETE", "/v1/machines/kept?outcome=failure", undefined, ann);
    expect(kept.status).toBe(200);
    expect(kept.body).toHaveProperty("kept_until");
    expect(lastLog(mayfly)).toMatchObject({ fetches: 0 });
    for (const [method, path, sent] of [
      ["DELETE", "/v1/machines/one"],
      ["DELETE", "/v1/machines?label_selector=run%3D7"],
      ["DELETE", "/v1/firewalls/wall"],
      ["POST", "/v1/teardown", {}],
      // A second time is no other.
      ["DELETE", "/v1/machines/one"],
    ] as const) {
      expect([path, (await mayfly.send(method, path, sent, ann)).status]).toEqual([path, 202]);
      expect([path, lastLog(mayfly)]).toMatchObject([path, { fetches: 0 }]);
    }
    expect(servers(mayfly)).toHaveLength(5);
    await minutes(mayfly, 3);
    expect(servers(mayfly)).toEqual([]);
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("are only those that need it, each once, however often it asks; an admin's count as the admin's", async () => {
    const { mayfly, byAccount } = braked({});
    const ann = await mayfly.tokenOf("ann");
    const firewalls = [{ rules: [{ direction: "in", protocol: "tcp", port: "22" }] }];
    const body = { ...BODY, firewalls, ssh_keys: [KEY_A] };
    await mayfly.send("PUT", "/v1/machines/box?wait=30", body, ann);
    const counted = ["tok.ann", "look tok.ann"];
    expect(byAccount.keys).toEqual(counted);
    for (const [method, path, sent] of [
      ["PUT", "/v1/machines/box", body],
      ["PUT", "/v1/machines/box", { ...BODY, server_typ: "cx23" }],
      ["PUT", "/v1/machines/box", "{"],
      ["PUT", "/v1/machines/other", { ...BODY, firewalls: ["unknown"] }],
      ["GET", "/v1/machines/box", undefined],
      ["GET", "/v1/machines", undefined],
      ["DELETE", "/v1/machines/unknown", undefined],
      ["DELETE", "/v1/machines?label_selector=run", undefined],
    ] as const)
      await mayfly.send(method, path, sent, ann);
    await mayfly.send("GET", "/v1/machines", undefined, "wrong");
    expect(byAccount.keys).toEqual(counted);
    await mayfly.send("POST", "/v1/machines/box/renew?owner=tok.ann", { ttl: "2h" });
    await mayfly.send("POST", "/v1/sweeps");
    expect(byAccount.keys).toEqual([...counted, "admin"]);
    await mayfly.send("DELETE", "/v1/machines/box", undefined, ann);
    expect(byAccount.keys).toEqual([...counted, "admin", "tok.ann"]);
  });

  it("count together over all runs of a repository, each of which is an owner of its own", async () => {
    const callers = await createCallers({});
    const byAccount = brakeOn(callers.mayfly.now, 60);
    callers.mayfly.configure({ ACCOUNT_BRAKE: byAccount });
    for (const run_id of ["9001", "9002"]) expect((await callers.ask(githubClaims({ run_id }))).status).toBe(201);
    expect(byAccount.keys).toEqual(["gh.74", "gh.74"]);
  });

  it("make no sweep where cron is dead", async () => {
    const { mayfly } = braked({ account: 1 });
    const ann = await mayfly.tokenOf("ann");
    await mayfly.bindings.DB.prepare("UPDATE locks SET last_good_cron_at = ?")
      .bind(mayfly.now() - HOUR)
      .run();
    await mayfly.send("PUT", "/v1/machines/box", BODY, ann);
    const sweeps = () => mayfly.logs.filter(({ event }) => event === "sweep").length;
    expect(sweeps()).toBe(1);
    for (const name of ["box", "other"]) await mayfly.send("PUT", `/v1/machines/${name}`, BODY, ann);
    expect(sweeps()).toBe(1);
  });
});

describe("a brake", () => {
  it("that fails lets the call through and is logged", async () => {
    const mayfly = createMayfly();
    const broken = { limit: async () => Promise.reject(new Error("no counter")) };
    mayfly.configure({ ADDRESS_BRAKE: broken, ACCOUNT_BRAKE: broken });
    mayfly.callFrom("203.0.113.7");
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(201);
    expect(mayfly.logs.filter(({ event }) => event === "error")).toEqual([
      { event: "error", error: "the rate limit ADDRESS_BRAKE failed: no counter" },
      { event: "error", error: "the rate limit ACCOUNT_BRAKE failed: no counter" },
    ]);
  });

  it("that a deployer has taken out lets everything through", async () => {
    const mayfly = createMayfly();
    mayfly.callFrom("203.0.113.7");
    expect(mayfly.bindings).toMatchObject({ ADDRESS_BRAKE: undefined, ACCOUNT_BRAKE: undefined });
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(201);
    expect(mayfly.logs.filter(({ event }) => event === "error")).toEqual([]);
  });

  it("counts as the Worker binds it: sixty calls of an account a minute", async () => {
    const mayfly = createMayfly();
    mayfly.configure({ ADDRESS_BRAKE: env.ADDRESS_BRAKE, ACCOUNT_BRAKE: env.ACCOUNT_BRAKE });
    mayfly.callFrom("203.0.113.7");
    const ann = await mayfly.tokenOf("real-binding");
    const unknown = { ...BODY, image: "4711" };
    let passed = 0;
    // Wherever the binding's minute turns, of so many calls more than sixty fall into one.
    while (passed < 200 && (await mayfly.send("PUT", "/v1/machines/box", unknown, ann)).status !== 429) passed += 1;
    expect(passed).toBeGreaterThanOrEqual(60);
    expect(passed).toBeLessThan(200);
  });
});
