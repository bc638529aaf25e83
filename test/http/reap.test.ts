import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, machinesIn, MINUTE, servers, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, name: string, run: string, token?: string) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "12h", labels: { run } }, token);
const reap = (mayfly: Mayfly, body: object, token?: string) => mayfly.send("POST", "/v1/reap", body, token);
const names = (answer: Awaited<ReturnType<typeof reap>>) => machinesIn(answer).map(({ name }) => name);

/** Two machines of run 1, an hour and two hours old, one of run 2, and one of somebody else's run 1. */
async function world(): Promise<Mayfly> {
  const mayfly = createMayfly();
  await put(mayfly, "old", "1");
  await put(mayfly, "other-run", "2");
  await put(mayfly, "others", "1", await mayfly.tokenOf("ann"));
  mayfly.advance(HOUR);
  await put(mayfly, "young", "1");
  mayfly.advance(HOUR);
  return mayfly;
}

describe("POST /v1/reap", () => {
  it("S159, S167: destroys those of one's own that match and are at least so old, as their owner's DELETE", async () => {
    const mayfly = await world();
    const reaped = await reap(mayfly, { label_selector: "run=1", older_than: "2h" });
    expect([reaped.status, names(reaped)]).toEqual([202, ["old"]]);
    expect(servers(mayfly)).toHaveLength(3);
    const { body } = await mayfly.send("GET", "/v1/machines/old");
    expect(body).toMatchObject({ machine: { status: "destroyed", reason: "requested" } });
    mayfly.advance(-1);
    expect((await reap(mayfly, { label_selector: "run=1", older_than: "1h" })).status).toBe(200);
    mayfly.advance(1);
    expect(names(await reap(mayfly, { label_selector: "run=1", older_than: "1h" }))).toEqual(["young"]);
  });

  it("in a dry run tells the same, and changes nothing", async () => {
    const mayfly = await world();
    const asked = mayfly.simulator.requests().length;
    const dry = await reap(mayfly, { label_selector: "run", older_than: "90m", dry_run: true });
    expect([dry.status, names(dry), dry.body]).toMatchObject([200, ["old", "other-run"], { dry_run: true }]);
    expect(mayfly.simulator.requests()).toHaveLength(asked);
    expect(servers(mayfly)).toHaveLength(4);
  });

  it("S162: leaves alone what the provider has not shown, whose age is unknown", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 504, code: "timeout" });
    expect((await put(mayfly, "box", "1")).status).toBe(503);
    mayfly.advance(5 * MINUTE);
    expect(names(await reap(mayfly, { label_selector: "run=1", older_than: "1m" }))).toEqual([]);
  });

  it.each([
    [{ older_than: "1h" }, "label_selector"],
    [{ label_selector: "run=1" }, "older_than"],
    [{ label_selector: "", older_than: "1h" }, "label_selector"],
    [{ label_selector: "run=", older_than: "1h" }, "label_selector"],
    [{ label_selector: "!run", older_than: "1h" }, "label_selector"],
    [{ label_selector: "run=1", older_than: "0s" }, "older_than"],
    [{ label_selector: "run=1", older_than: "-1h" }, "older_than"],
    [{ label_selector: "run=1", older_than: "3x" }, "older_than"],
    [{ label_selector: "run=1", older_than: 3600 }, "older_than"],
    [{ label_selector: "run=1", older_than: "1h", dryRun: true }, "dryRun"],
  ])("S171-S173: refuses %j, naming %s, and destroys nothing", async (body, field) => {
    const mayfly = await world();
    expect(await reap(mayfly, body)).toMatchObject({ status: 422, body: { code: "invalid_input", field } });
    expect(servers(mayfly)).toHaveLength(4);
  });
});
