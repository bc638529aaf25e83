import { describe, expect, it } from "vitest";
import { monthsBetween } from "../../src/machine/money.ts";
import { HOUR, minutes, servers, type Mayfly } from "../mayfly.ts";
import { eur, limited, put, told } from "./limited.ts";

describe("I6: what sweeps find is never refused and always counted", () => {
  const MOST = { name: "shared", eur_per_month: eur(10), account: "policy" } as const;
  const isFull = async (mayfly: Mayfly, token: string, used: number) =>
    expect(told(await put(mayfly, "more", token, { ttl: "30m" })).figures).toMatchObject({
      limit: eur(10),
      used: eur(used),
    });

  it("adopted machines, after the loss of D1, by the account that their label tells", async () => {
    const mayfly = await limited([MOST]);
    const tokenOf = (owner: string) => mayfly.tokenOf(owner, { policy: "shared" });
    for (const owner of ["alice", "bob"])
      expect((await put(mayfly, "box", await tokenOf(owner), { ttl: "290m" })).status).toBe(201);
    await isFull(mayfly, await tokenOf("carol"), 10);
    await mayfly.bindings.DB.batch(
      ["machines", "tokens", "settings", "catalogues"].map((table) =>
        mayfly.bindings.DB.prepare(`DELETE FROM ${table}`),
      ),
    );
    await minutes(mayfly, 35);
    await isFull(mayfly, await tokenOf("carol"), 10);
  });

  it("a machine that was given up as lost, and is seen again", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    await put(mayfly, "box", alice, { ttl: "590m" });
    const [server] = servers(mayfly);
    await mayfly.bindings.DB.prepare(
      "UPDATE machines SET phase = 'destroyed', status = 'destroyed', reason = 'lost', destroyed_at = ?",
    )
      .bind(mayfly.now())
      .run();
    expect((await put(mayfly, "more", alice, { ttl: "30m" })).status).toBe(201);
    await mayfly.send("DELETE", "/v1/machines/more", undefined, alice);
    await minutes(mayfly, 35);
    expect(servers(mayfly)).toEqual([expect.objectContaining({ id: server?.id })]);
    await isFull(mayfly, alice, 11);
  });

  it("a second machine of one uid, that somebody made by hand from the first one's labels", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    await put(mayfly, "box", alice, { ttl: "290m" });
    const [server] = servers(mayfly);
    await mayfly.simulator.fetch(
      new Request("https://api.hetzner.cloud/v1/servers", {
        method: "POST",
        headers: { Authorization: `Bearer ${mayfly.bindings.HCLOUD_TOKEN}`, "Content-Type": "application/json" },
        body: JSON.stringify({
          name: "twin",
          server_type: "cx23",
          location: "fsn1",
          image: "debian-12",
          labels: server?.labels,
        }),
      }),
    );
    expect(servers(mayfly)).toHaveLength(2);
    await minutes(mayfly, 35);
    await isFull(mayfly, alice, 10);
  });

  it("a machine past its end that the provider does not let go, hour by hour", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    await put(mayfly, "box", alice, { ttl: "30m" });
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: 999 });
    const used = async () => (await mayfly.store.limits.spent("pol.shared", monthsOf(mayfly)))[0]?.account;
    const hours: unknown[] = [await used()];
    for (let hour = 0; hour < 3; hour++) {
      mayfly.advance(HOUR);
      await mayfly.tick();
      hours.push(await used());
    }
    expect(hours).toEqual([1, 2, 3, 4].map((count) => count * 11_424));
    expect(mayfly.simulator.bill().total_micro_eur).toBe(3 * 11_424);
  });

  it("a machine that is being made, though nobody has heard of it", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 9 });
    expect((await put(mayfly, "box", alice, { ttl: "590m" })).status).toBe(503);
    await isFull(mayfly, alice, 10);
  });
});
const monthsOf = (mayfly: Mayfly) =>
  monthsBetween(mayfly.now(), mayfly.now()).map(({ month, begins, ends }) => ({
    month,
    begins,
    ends,
    now: mayfly.now(),
    account: null,
    installation: null,
  }));
