import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Driver } from "../../src/driver/driver.ts";
import { createMachine } from "../../src/lifecycle/create.ts";
import { slow } from "../behind.ts";
import { createMayfly, MINUTE, NOW, principalOf, servers, type Answer, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, body: object, name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, body);
const pair = z.object({
  server_type: z.string(),
  region: z.string(),
  outcome: z.string(),
  reason: z.string().nullable(),
});
const chosenIn = ({ body }: Answer) =>
  z
    .object({ machine: z.object({ server_type: z.string(), region: z.string(), candidates: z.array(pair) }) })
    .parse(body).machine;
const told = ({ body }: Answer) =>
  z
    .union([
      z.object({ candidates: z.array(pair) }),
      z.object({ machine: z.object({ candidates: z.array(pair) }) }).transform(({ machine }) => machine),
    ])
    .parse(body)
    .candidates.map(({ server_type, region, outcome }) => `${server_type} ${region} ${outcome}`);
const posts = (mayfly: Mayfly) => mayfly.simulator.requests().filter(({ method }) => method === "POST").length;
const soldOut = (mayfly: Mayfly, ...pairs: [string, string][]) => {
  for (const [server_type, location] of pairs) mayfly.simulator.stock({ server_type, location, orderable: false });
};
const CHOICES = { server_type: ["cx23", "cx33"], region: ["fsn1", "hel1"] };

describe("candidates", () => {
  it("are tried in order of preference, types first; the answer says which was chosen and why the others were not", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"], ["cx23", "hel1"]);
    const created = await put(mayfly, CHOICES);
    expect(created.status).toBe(201);
    expect(chosenIn(created)).toMatchObject({ server_type: "cx33", region: "fsn1" });
    expect(told(created)).toEqual([
      "cx23 fsn1 capacity",
      "cx23 hel1 capacity",
      "cx33 fsn1 chosen",
      "cx33 hel1 not_tried",
    ]);
    expect(chosenIn(created).candidates[0]?.reason).toContain("resource_unavailable");
    expect(servers(mayfly)).toHaveLength(1);
    const repeat = await put(mayfly, CHOICES);
    expect([repeat.status, chosenIn(repeat).region]).toEqual([200, "fsn1"]);
  });

  it("are no reason to refuse a repeat: what an architecture means is not asked for again", async () => {
    const mayfly = createMayfly();
    const body = { arch: "arm64", region: "fsn1" };
    expect((await put(mayfly, body)).status).toBe(201);
    mayfly.advance(11 * MINUTE);
    mayfly.simulator.stock({ available: false });
    await mayfly.send("GET", "/v1/server_types");
    expect((await put(mayfly, body)).status).toBe(200);
  });

  it("S41: move on at every shape of shortage", async () => {
    const shapes: [number, string, string][] = [
      [412, "resource_unavailable", "error during placement"],
      [422, "placement_error", "error during placement"],
      [422, "invalid_input", "unsupported location for server type"],
      [422, "invalid_input", "server location disabled"],
    ];
    for (const [status, code, message] of shapes) {
      const mayfly = createMayfly();
      mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status, code, message });
      expect(
        chosenIn(await put(mayfly, { server_type: "cx23", region: ["fsn1", "hel1"] }, `m${status}${message.length}`)),
      ).toMatchObject({ region: "hel1" });
      await mayfly.bindings.DB.batch(
        ["machines", "cooldowns"].map((table) => mayfly.bindings.DB.prepare(`DELETE FROM ${table}`)),
      );
    }
  });

  it("case 4, case 7: each are tried once; where none has room the answer is `capacity`, and nothing is left", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"], ["cx23", "hel1"], ["cx33", "fsn1"], ["cx33", "hel1"]);
    const refused = await put(mayfly, CHOICES);
    expect(refused).toMatchObject({ status: 503, body: { code: "capacity" } });
    expect(refused.headers.get("Retry-After")).toBe("30");
    expect(told(refused)).toEqual([
      "cx23 fsn1 capacity",
      "cx23 hel1 capacity",
      "cx33 fsn1 capacity",
      "cx33 hel1 capacity",
    ]);
    expect(posts(mayfly)).toBe(4);
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/v1/machines")).body).toMatchObject({ machines: [] });
  });

  it("case 9: that had no room are tried last for five minutes", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"]);
    await put(mayfly, CHOICES, "first");
    mayfly.simulator.stock({ server_type: "cx23", location: "fsn1", orderable: true });
    expect(told(await put(mayfly, CHOICES, "second"))[0]).toBe("cx23 hel1 chosen");
    mayfly.advance(5 * MINUTE);
    expect(told(await put(mayfly, CHOICES, "third"))[0]).toBe("cx23 fsn1 chosen");
  });

  it("case 9: that are cooling down say so, whether another is chosen or none", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"]);
    await put(mayfly, CHOICES, "first");
    mayfly.advance(42_000);
    const reason = "was not to be had 42 s ago, and is tried after the others";
    const chosen = await put(mayfly, CHOICES, "second");
    expect(chosenIn(chosen).candidates.map((one) => [one.outcome, one.reason])).toEqual([
      ["chosen", null],
      ["not_tried", reason],
      ["not_tried", null],
      ["not_tried", null],
    ]);
    slow(mayfly, 10_000, undefined, ({ method }) => method === "POST");
    for (const region of ["fsn1", "hel1"]) soldOut(mayfly, ["cx23", region], ["cx33", region]);
    const refused = await put(mayfly, CHOICES, "third");
    expect(
      z
        .object({ candidates: z.array(pair) })
        .parse(refused.body)
        .candidates.at(-2),
    ).toMatchObject({
      server_type: "cx23",
      region: "fsn1",
      outcome: "not_tried",
      reason: "was not to be had 62 s ago, and is tried after the others",
    });
  });

  it("are tried all the same where all are cooling down", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"], ["cx23", "hel1"]);
    const order = { server_type: "cx23", region: ["fsn1", "hel1"] };
    expect((await put(mayfly, order)).status).toBe(503);
    mayfly.simulator.stock({ server_type: "cx23", location: "hel1", orderable: true });
    expect(told(await put(mayfly, order))).toEqual(["cx23 fsn1 capacity", "cx23 hel1 chosen"]);
  });

  it("are begun for twenty seconds, and no more where a create could be cut off", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"], ["cx23", "hel1"], ["cx33", "fsn1"], ["cx33", "hel1"]);
    slow(mayfly, 6000, undefined, ({ method }) => method === "POST");
    const began = mayfly.now();
    const refused = await put(mayfly, CHOICES);
    expect(refused).toMatchObject({ status: 503, body: { code: "capacity" } });
    expect(mayfly.now() - began).toBe(18_000);
    const { candidates } = z.object({ candidates: z.array(pair) }).parse(refused.body);
    expect(candidates.map(({ outcome }) => outcome)).toEqual(["capacity", "capacity", "capacity", "not_tried"]);
    expect(candidates[3]?.reason).toBe("there was no time left for it in this call");
    expect((await mayfly.send("GET", "/v1/machines")).body).toMatchObject({ machines: [] });
  });

  it("have each what is left of the time", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"], ["cx23", "hel1"], ["cx33", "fsn1"], ["cx33", "hel1"]);
    slow(mayfly, 6000, undefined, ({ method }) => method === "POST");
    const context = mayfly.context();
    const given: unknown[] = [];
    const driver: Driver = {
      ...context.driver,
      create: (spec, options) => {
        given.push(options?.withinMs);
        return context.driver.create(spec, options);
      },
    };
    // As in a sweep, whose time stands still.
    const stopped = { ...context, driver, now: () => NOW };
    const order = { serverTypes: ["cx23", "cx33"], regions: ["fsn1", "hel1"] };
    expect((await createMachine(stopped, principalOf("tok.ci"), "box", order)).ok).toBe(false);
    expect(given).toEqual([20_000, 14_000, 8000]);
  });

  it("beyond eight are left to the next call", async () => {
    const mayfly = createMayfly();
    for (const location of ["fsn1", "nbg1", "hel1"]) mayfly.simulator.stock({ location, orderable: false });
    const order = { server_type: ["cx23", "cx33", "cx43"], region: ["fsn1", "nbg1", "hel1"] };
    const refused = await put(mayfly, order);
    expect(posts(mayfly)).toBe(8);
    expect(z.object({ candidates: z.array(pair) }).parse(refused.body).candidates[8]).toMatchObject({
      outcome: "not_tried",
      reason: "so many are not tried in one call",
    });
  });

  it("end at the first refusal that is not for shortage, and at the first that is not clear", async () => {
    for (const [status, code, answer] of [
      [403, "resource_limit_exceeded", "provider_quota"],
      [503, "unavailable", "provider_unavailable"],
    ] as const) {
      const mayfly = createMayfly();
      mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status, code, message: "no" });
      expect(await put(mayfly, CHOICES, code.slice(0, 3))).toMatchObject({ status: 503, body: { code: answer } });
      expect(posts(mayfly)).toBe(1);
    }
  });

  it("make one machine, though the answer to the second of them is lost", async () => {
    const mayfly = createMayfly();
    soldOut(mayfly, ["cx23", "fsn1"]);
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", after: 1, drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503, code: "unavailable", message: "no" });
    expect((await put(mayfly, CHOICES)).status).toBe(503);
    expect((await put(mayfly, CHOICES)).status).toBe(200);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("an arch alone", () => {
  it("S94: picks the cheapest type with two cores that can be ordered in the region, and the next where that has no room", async () => {
    const mayfly = createMayfly();
    const created = await put(mayfly, { arch: "arm64", region: "fsn1" });
    expect(chosenIn(created)).toMatchObject({ server_type: "cax11", region: "fsn1" });
    expect(servers(mayfly)[0]?.server_type.architecture).toBe("arm");
    soldOut(mayfly, ["cax11", "fsn1"]);
    expect(chosenIn(await put(mayfly, { arch: "arm64", region: "fsn1" }, "next"))).toMatchObject({
      server_type: "cax21",
    });
  });

  it("S94: picks by price over all regions, and with a network region by region, which it might not be in else", async () => {
    const mayfly = createMayfly();
    const created = await put(mayfly, { arch: "arm64", region: ["fsn1", "hel1", "nbg1"] });
    expect(chosenIn(created)).toMatchObject({ server_type: "cax11", region: "nbg1" });
    expect(told(created)).toEqual([
      "cax11 nbg1 chosen",
      "cax11 hel1 not_tried",
      "cax11 fsn1 not_tried",
      "cax21 hel1 not_tried",
      "cax21 nbg1 not_tried",
      "cax21 fsn1 not_tried",
      "cax31 fsn1 not_tried",
      "cax31 nbg1 not_tried",
      "cax31 hel1 not_tried",
    ]);
    const networks = [{ ip_range: "10.0.0.0/16" }];
    const away = { arch: "amd64", region: ["hel1", "ash"] };
    expect(chosenIn(await put(mayfly, away, "alone"))).toMatchObject({ server_type: "cpx11", region: "ash" });
    expect(chosenIn(await put(mayfly, { ...away, networks }, "inside"))).toMatchObject({ region: "hel1" });
  });
});
