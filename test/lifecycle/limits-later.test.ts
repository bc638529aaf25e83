import { describe, expect, it } from "vitest";
import type { PolicyEntry } from "../../src/auth/policy.ts";
import { machineIn, servers, type Mayfly } from "../mayfly.ts";
import { eur, limited, put, told } from "./limited.ts";

describe("I10: the limits of an account that a machine's owner has left", () => {
  const POLICIES: PolicyEntry[] = [
    { name: "team", account: "policy" },
    { name: "alone", eur_per_month: eur(14) },
  ];
  async function left(mayfly: Mayfly, act: (alice: string) => Promise<unknown>) {
    const alice = await mayfly.tokenOf("alice", { policy: "team" });
    expect((await put(mayfly, "secret", await mayfly.tokenOf("bob", { policy: "team" }), { ttl: "11h" })).status).toBe(
      201,
    );
    await act(alice);
    return mayfly.tokenOf("alice", { policy: "alone" });
  }

  it("still bind its renewal, and the refusal names none of the others that are there", async () => {
    const mayfly = await limited(POLICIES);
    const alone = await left(mayfly, (alice) => put(mayfly, "mine", alice));
    const renew = (token?: string) => mayfly.send("POST", "/v1/machines/mine/renew", { ttl: "11h" }, token);
    expect(told(await renew(alone)).machines).toMatchObject([{ name: "mine", owner: "tok.alice" }]);
    mayfly.configure({ MAX_EUR_PER_MONTH: "0.16" });
    const byAdmin = await mayfly.send("POST", "/v1/machines/mine/renew?owner=tok.alice", { ttl: "11h" });
    expect(told(byAdmin).machines).toHaveLength(2);
  });

  it("are what a create is refused by that is tried again at a higher price", async () => {
    const mayfly = await limited(POLICIES);
    const alone = await left(mayfly, async (alice) => {
      mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 1 });
      expect((await put(mayfly, "mine", alice, { ttl: "90m" })).status).toBe(503);
    });
    mayfly.simulator.setPrices(400);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    await mayfly.context().driver.priceEurPerHour("fsn1", "cx23");
    expect(told(await put(mayfly, "mine", alone, { ttl: "90m" })).figures).toMatchObject({ used: eur(14) });
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("I6: a create that is tried again", () => {
  it("at a higher price is held against the limits anew, and refused where it no longer fits", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(3) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    const fault = () => mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 1 });
    fault();
    expect((await put(mayfly, "box", alice, { ttl: "90m" })).status).toBe(503);
    mayfly.simulator.setPrices(200);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    await mayfly.context().driver.priceEurPerHour("fsn1", "cx23");
    const answer = await put(mayfly, "box", alice, { ttl: "90m" });
    expect(told(answer).figures).toMatchObject({ limit: eur(3), used: eur(2), asked: eur(2) });
    expect(servers(mayfly)).toHaveLength(0);
    mayfly.simulator.setPrices(150);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    await mayfly.context().driver.priceEurPerHour("fsn1", "cx23");
    expect(machineIn(await put(mayfly, "box", alice, { ttl: "90m" })).price_eur_per_hour).toBe(0.017136);
  });
});
