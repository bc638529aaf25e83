import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, MINUTE, type Mayfly, servers } from "../mayfly.ts";

const put = (mayfly: Mayfly, name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, BODY);
const destroy = (mayfly: Mayfly, ref = "box") => mayfly.send("DELETE", `/v1/machines/${ref}`);

describe("DELETE", () => {
  it("P50: twice, by name and by id, is a success", async () => {
    const mayfly = createMayfly();
    const { id } = machineIn(await put(mayfly));
    expect((await destroy(mayfly)).status).toBe(200);
    expect((await destroy(mayfly)).status).toBe(200);
    expect((await destroy(mayfly, id)).status).toBe(200);
    const deletes = mayfly.simulator.requests().filter(({ method }) => method === "DELETE");
    expect(deletes).toHaveLength(1);
  });

  it("P50: by ten callers at once is a success for all of them", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const answers = await Promise.all(Array.from({ length: 10 }, () => destroy(mayfly)));
    expect(answers.every(({ status }) => status === 200 || status === 202)).toBe(true);
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).status).toBe("destroyed");
  });

  it("P49: of a machine that somebody deleted by hand is a success", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    mayfly.simulator.reset();
    const gone = await destroy(mayfly);
    expect(gone.status).toBe(200);
    expect(machineIn(gone).status).toBe("destroyed");
  });

  it("case 20: while the provider says locked, or nothing, is taken on and finished by the sweep", async () => {
    for (const fault of [{ status: 423, code: "locked", message: "busy" }, { drop: "before" as const }]) {
      const mayfly = createMayfly();
      await put(mayfly);
      mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", times: 2, ...fault });
      const answer = await destroy(mayfly);
      expect(answer.status).toBe(202);
      expect(machineIn(answer).status).toBe("deleting");
      expect(await put(mayfly)).toMatchObject({ status: 409, body: { code: "releasing" } });
      mayfly.advance(MINUTE);
      await mayfly.tick();
      expect(servers(mayfly)).toHaveLength(1);
      mayfly.advance(2 * MINUTE);
      await mayfly.tick();
      expect(servers(mayfly)).toEqual([]);
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).status).toBe("destroyed");
      await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    }
  });

  it("case 22: of a protected machine is refused with what to do, and holds once it is not protected any more", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const [server] = servers(mayfly);
    const protect = (on: boolean) =>
      mayfly.simulator.fetch(
        new Request(`http://sim/v1/servers/${server?.id}/actions/change_protection`, {
          method: "POST",
          headers: { Authorization: "Bearer x" },
          body: JSON.stringify({ delete: on, rebuild: on }),
        }),
      );
    mayfly.advance(MINUTE);
    await protect(true);
    const refused = await destroy(mayfly);
    expect(refused).toMatchObject({ status: 423, body: { code: "provider_protected" } });
    mayfly.advance(MINUTE);
    const report = await mayfly.tick();
    expect(report?.phases[0]?.items).toMatchObject([{ outcome: "alert", reason: "provider_protected" }]);
    expect(servers(mayfly)).toHaveLength(1);
    await protect(false);
    mayfly.advance(20 * MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
  });

  it("case 7: of an id that is another machine now deletes nothing", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const [server] = servers(mayfly);
    const others = [
      { ...server?.labels, "mayfly-uid": "00000000-0000-4000-8000-00000000dead" },
      { ...server?.labels, "mayfly-installation": "other" },
      {},
    ];
    for (const labels of others) {
      mayfly.simulator.reset();
      mayfly.simulator.addServer({ id: server?.id ?? 0, name: "x", labels, created: server?.created ?? "" });
      expect(await destroy(mayfly)).toMatchObject({ status: 409, body: { code: "identity_mismatch" } });
      expect(servers(mayfly)).toHaveLength(1);
    }
    mayfly.simulator.reset();
    mayfly.simulator.addServer({
      id: server?.id ?? 0,
      name: "x",
      labels: server?.labels ?? {},
      created: "2020-01-01T00:00:00Z",
    });
    expect(await destroy(mayfly)).toMatchObject({ status: 409, body: { code: "identity_mismatch" } });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("while the create is under way kills what lands later", async () => {
    const mayfly = createMayfly();
    const { simulator } = mayfly;
    const fetch = simulator.fetch.bind(simulator);
    let release = () => {};
    const posted = new Promise<void>((resolve) => (release = resolve));
    let destroyed: ReturnType<typeof destroy> | undefined;
    simulator.fetch = async (request) => {
      if (request.method === "POST" && destroyed === undefined) {
        // Between the caller's word and the provider's act: nothing is there to be found yet.
        destroyed = destroy(mayfly);
        void destroyed.then(release);
        await posted;
      }
      return fetch(request);
    };
    const create = put(mayfly);
    const refused = await create;
    expect(await destroyed).toMatchObject({ status: 202 });
    expect(refused).toMatchObject({ status: 409, body: { code: "released" } });
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "requested",
    });
    expect((await put(mayfly)).status).toBe(201);
  });
});
