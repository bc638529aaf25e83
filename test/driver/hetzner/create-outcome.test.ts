import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import { failureOf, OTHER_UID, spec, UID } from "../contract/cloud.ts";
import { openCanned, openSimulated, pageOf, refusal, serverJson } from "./bench.ts";

const mine = { labels: spec().labels };

describe("a create whose answer is lost", () => {
  it("case 14: after it took effect, the machine is found by name and is ours", async () => {
    const { driver, sim, count } = openSimulated();
    sim.fault({ method: "POST", path: "/servers$", drop: "after" });
    const machine = await driver.create(spec());
    expect(machine.providerId).toBe(String(sim.state().servers[0]?.id));
    expect([count("POST"), sim.state().servers.length]).toEqual([1, 1]);
    expect(sim.requests().at(-1)).toMatchObject({ method: "GET", path: "/v1/servers", query: "name=ci-1" });
  });

  it("case 14: before it took effect, one look-up finds nothing and the outcome stays open", async () => {
    const { driver, sim, count } = openSimulated();
    sim.fault({ method: "POST", path: "/servers$", drop: "before" });
    expect(await failureOf(driver.create(spec()))).toMatchObject({
      code: "unavailable",
      ambiguous: true,
      retryable: true,
    });
    expect([count("POST"), count("GET"), sim.state().servers.length]).toEqual([1, 1, 0]);
    await driver.create(spec());
    expect(sim.state().servers).toHaveLength(1);
  });

  it("case 14, P20: lost twice over, the next try meets its own name and adopts what it made", async () => {
    const { driver, sim } = openSimulated();
    sim.fault({ method: "POST", path: "/servers$", drop: "after" });
    sim.fault({ method: "GET", path: "/servers$", drop: "before" });
    expect(await failureOf(driver.create(spec()))).toMatchObject({ ambiguous: true, retryable: true });
    const [made] = sim.state().servers;
    expect((await driver.create(spec())).providerId).toBe(String(made?.id));
    expect(sim.state().servers).toHaveLength(1);
  });

  it("case 14: a machine that no list shows yet leaves the outcome open, and the next try finds it taken", async () => {
    const { driver, sim } = openSimulated();
    sim.fault({ method: "POST", path: "/servers$", hide_from_list_seconds: 60 });
    sim.fault({ method: "POST", path: "/servers$", drop: "after" });
    expect(await failureOf(driver.create(spec()))).toMatchObject({ ambiguous: true });
    expect(await failureOf(driver.create(spec()))).toMatchObject({ code: "conflict", retryable: true });
    sim.advance(61);
    expect((await driver.create(spec())).providerId).toBe(String(sim.state().servers[0]?.id));
    expect(sim.state().servers).toHaveLength(1);
  });

  it.each([500, 502, 503, 504])(
    "case 34, S155: %i is looked into by name before anybody posts again",
    async (status) => {
      const { driver, sim, count } = openSimulated();
      sim.fault({ method: "POST", path: "/servers$", status });
      const error = await failureOf(driver.create(spec()));
      expect(error).toMatchObject({ status, ambiguous: true, retryable: true });
      expect([count("POST"), count("GET")]).toEqual([1, 1]);
    },
  );

  it.each(["not json", "", "{}", '{"server":{"id":"42"}}', '{"server":{"id":9007199254740993}}', "[]"])(
    "S156, S157: a 201 that says %j may have made a machine, and is looked into",
    async (body) => {
      const { driver, sent } = openCanned(({ method }) =>
        method === "POST" ? new Response(body, { status: 201 }) : pageOf([serverJson(mine)]),
      );
      expect((await driver.create(spec())).providerId).toBe("42");
      expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"]);
    },
  );

  it("S156: and is an open outcome when the look-up finds nothing", async () => {
    const { driver } = openCanned(({ method }) =>
      method === "POST" ? new Response("cut o", { status: 201 }) : pageOf([]),
    );
    expect(await failureOf(driver.create(spec()))).toMatchObject({ code: "unexpected", ambiguous: true });
  });
});

describe("a create whose answer is not about the machine that was asked for", () => {
  const answers: [string, Record<string, unknown>][] = [
    ["of another name", { ...mine, name: "somebody-else" }],
    ["of another uid", { labels: { [LABEL.uid]: OTHER_UID } }],
    ["without our uid", { labels: { team: "a" } }],
    ["without any label", { labels: {} }],
    ["whose labels are null", { labels: null }],
    ["whose labels are missing", { labels: undefined }],
  ];

  it.each(answers)("is not believed %s: the name is looked up", async (_what, over) => {
    const { driver, sent } = openCanned(({ method }) =>
      method === "POST"
        ? Response.json({ server: serverJson({ id: 777, ...over }) }, { status: 201 })
        : pageOf([serverJson(mine)]),
    );
    expect((await driver.create(spec())).providerId).toBe("42");
    expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  it.each(answers)("leaves the outcome open %s, where the name finds nothing", async (_what, over) => {
    const { driver } = openCanned(({ method }) =>
      method === "POST" ? Response.json({ server: serverJson({ id: 777, ...over }) }, { status: 201 }) : pageOf([]),
    );
    expect(await failureOf(driver.create(spec()))).toMatchObject({ code: "unexpected", ambiguous: true });
  });

  it("goes by the name alone where the spec has no uid", async () => {
    const answering = (name: string) =>
      openCanned(({ method }) =>
        method === "POST" ? Response.json({ server: serverJson({ name }) }, { status: 201 }) : pageOf([]),
      ).driver;
    expect((await answering("ci-1").create(spec({ labels: {} }))).providerId).toBe("42");
    for (const name of ["another", ""])
      expect((await failureOf(answering(name).create(spec({ labels: {} })))).ambiguous).toBe(true);
  });
});

describe("a create whose name is taken", () => {
  const taken = (existing: Response) =>
    openCanned(({ method }) => (method === "POST" ? refusal(409, "uniqueness_error") : existing));

  it("P24, P29: asks by the exact name and adopts what carries our uid, whatever became of it", async () => {
    const { driver, sim, count } = openSimulated();
    const made = sim.addServer({ name: "ci-1", status: "off", created: "2026-11-30T09:00:00Z", ...mine });
    const machine = await driver.create(spec());
    expect(machine).toMatchObject({ providerId: String(made.id), status: "stopped" });
    expect([count("POST"), count("GET")]).toEqual([1, 1]);
  });

  it("P24: takes no machine of another name from the answer", async () => {
    const { driver } = taken(pageOf([serverJson({ ...mine, name: "ci-10" }), serverJson({ ...mine, name: "CI-1" })]));
    expect(await failureOf(driver.create(spec()))).toMatchObject({ code: "conflict", retryable: true });
  });

  it("P24: adopts nothing of another uid, however alike", async () => {
    for (const uid of [OTHER_UID, `${UID} `, ""]) {
      const { driver } = taken(pageOf([serverJson({ labels: { [LABEL.managed]: "true", [LABEL.uid]: uid } })]));
      const error = await failureOf(driver.create(spec()));
      expect(error).toMatchObject({ code: "name_taken", ambiguous: false, existing: { providerId: "42" } });
    }
  });

  it("P24: adopts nothing of our uid that lacks our other labels", async () => {
    for (const key of [LABEL.managed, LABEL.installation]) {
      const { driver } = taken(pageOf([serverJson({ labels: { ...mine.labels, [key]: "other" } })]));
      expect(await failureOf(driver.create(spec()))).toMatchObject({
        code: "name_taken",
        existing: { providerId: "42" },
      });
    }
  });

  it("P24, P28: waits for a machine of ours that is on its way out", async () => {
    const { driver } = taken(pageOf([serverJson({ ...mine, status: "deleting" })]));
    expect(await failureOf(driver.create(spec()))).toMatchObject({ code: "conflict", retryable: true });
  });

  it("P24: a look-up that fails as well leaves the outcome open: the machine may be ours", async () => {
    const { driver } = taken(refusal(503, "unavailable"));
    const error = await failureOf(driver.create(spec()));
    expect(error).toMatchObject({ code: "unavailable", ambiguous: true, retryable: true, existing: undefined });
  });
});

describe("a create that is refused", () => {
  it.each([
    [412, "resource_unavailable", "capacity"],
    [422, "placement_error", "capacity"],
    [403, "resource_limit_exceeded", "quota"],
    [401, "unauthorized", "unauthorized"],
    [429, "rate_limit_exceeded", "rate_limited"],
    [422, "invalid_input", "invalid_input"],
    [409, "conflict", "conflict"],
  ])("S155: %i %s is final: no look-up, no second try", async (status, native, code) => {
    const { driver, sim, count } = openSimulated();
    sim.fault({ method: "POST", path: "/servers$", status, code: native, times: 9 });
    expect(await failureOf(driver.create(spec()))).toMatchObject({ code, ambiguous: false });
    expect([count("POST"), count("GET"), sim.state().servers.length]).toEqual([1, 0, 0]);
  });

  it.each([{ serverType: "cx1" }, { region: "atlantis" }, { image: "beos-5" }])(
    "P41: %j, which Hetzner does not have, is a mistake in the request and no absent machine",
    async (over) => {
      const { driver } = openSimulated();
      expect(await failureOf(driver.create(spec(over)))).toMatchObject({ code: "invalid_input", retryable: false });
    },
  );
});
