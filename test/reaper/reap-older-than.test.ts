import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DriverError, type Driver } from "../../src/driver/driver.ts";
import { createMemoryDriver, emptyCloud } from "../../src/driver/memory.ts";
import { LABEL } from "../../src/machine/labels.ts";
import type { Machine } from "../../src/machine/machine.ts";
import type { Selector } from "../../src/machine/selector.ts";
import { reapOlderThan, Withheld, type Reaped } from "../../src/reaper/reap-older-than.ts";
import { CREATED, DAY, HOUR, machineOf, MINUTE, OUR_LABELS, SECOND, seconds } from "../machine/fixtures.ts";

const NOW = CREATED + 10 * DAY;
const OURS: Selector = { [LABEL.managed]: "true" };
const NOTHING: Reaped = { destroyed: [], errors: [], kept: [], remaining: [], unknownAge: [] };

const aged = (providerId: string, age: number, change: Partial<Machine> = {}): Machine =>
  machineOf({ providerId, createdAt: NOW - age, labels: OUR_LABELS, ...change });
const stamped = (providerId: string, created?: string): Machine =>
  aged(providerId, 0, {
    createdAt: null,
    labels: created === undefined ? OUR_LABELS : { ...OUR_LABELS, [LABEL.created]: created },
  });

/** A second provider: the five operations and not one thing more. It lists in the order given, and tells what it was asked. */
function createTinyDriver(machines: readonly Machine[], change: Partial<Driver> = {}) {
  const asked: string[] = [];
  const left = new Map(machines.map((machine) => [machine.providerId, machine]));
  const refuse = (): Promise<never> => Promise.reject(new DriverError("unexpected", "a reaper has no business here"));
  const driver: Driver = {
    create: refuse,
    destroy: async (providerId) => {
      asked.push(providerId);
      left.delete(providerId);
    },
    get: refuse,
    list: async () => [...left.values()],
    priceEurPerHour: refuse,
    ...change,
  };
  return { driver, asked, left };
}

const reap = (driver: Driver, maxAge = HOUR, selector = OURS, signal?: AbortSignal): Promise<Reaped> =>
  reapOlderThan(driver, {
    selector,
    createdLabel: LABEL.created,
    maxAgeMs: maxAge,
    now: NOW,
    ...(signal === undefined ? {} : { signal }),
  });

/** A driver whose destroy fails for some, by id. */
const failingFor = (machines: readonly Machine[], failures: Readonly<Record<string, Error>>) => {
  const tiny = createTinyDriver(machines);
  const destroy: Driver["destroy"] = async (providerId) => {
    const failure = failures[providerId];
    if (failure) throw failure;
    await tiny.driver.destroy(providerId);
  };
  return { ...tiny, driver: { ...tiny.driver, destroy } };
};

afterEach(() => vi.restoreAllMocks());

describe.each<[string, (machines: readonly Machine[]) => { driver: Driver; left: ReadonlyMap<string, Machine> }]>([
  [
    "the memory provider",
    (machines) => {
      const cloud = emptyCloud();
      for (const machine of machines) cloud.machines.set(machine.providerId, machine);
      return { driver: createMemoryDriver({ now: () => NOW, cloud }), left: cloud.machines };
    },
  ],
  ["a provider of five operations", (machines) => createTinyDriver(machines)],
])("S12: over %s", (_, open) => {
  it("S159: destroys what matches and is older, and answers its ids", async () => {
    const { driver, left } = open([
      aged("mem-1", 2 * HOUR),
      aged("mem-2", MINUTE),
      aged("mem-3", 3 * HOUR, { labels: { [LABEL.managed]: "false" } }),
      aged("mem-4", 90 * MINUTE),
    ]);
    const { destroyed, ...rest } = await reap(driver);
    expect(destroyed.toSorted()).toEqual(["mem-1", "mem-4"]);
    expect({ ...rest, destroyed: [] }).toEqual(NOTHING);
    expect([...left.keys()]).toEqual(["mem-2", "mem-3"]);
  });

  it("S178: one that is being deleted is left to it, and stops nothing", async () => {
    const { driver, left } = open([
      aged("mem-1", 2 * HOUR),
      aged("mem-2", 2 * HOUR, { status: "deleting" }),
      aged("mem-3", 2 * HOUR),
    ]);
    expect((await reap(driver)).destroyed).toEqual(["mem-1", "mem-2", "mem-3"]);
    expect([...left.keys()]).toEqual(["mem-2"]);
  });
});

const codeOf = (error: Error): string => (error instanceof DriverError ? error.code : error.name);

describe("age", () => {
  it("S160: the provider's time wins over the label", async () => {
    const { driver, asked } = createTinyDriver([
      aged("old", 2 * HOUR, { labels: { ...OUR_LABELS, [LABEL.created]: seconds(NOW) } }),
      aged("young", MINUTE, { labels: { ...OUR_LABELS, [LABEL.created]: seconds(NOW - DAY) } }),
    ]);
    await reap(driver);
    expect(asked).toEqual(["old"]);
  });

  it("S161: without it the label's unix seconds count, under whatever key the caller names", async () => {
    const machines = [stamped("old", seconds(NOW - 2 * HOUR)), stamped("young", seconds(NOW - MINUTE))];
    expect((await reap(createTinyDriver(machines).driver)).destroyed).toEqual(["old"]);
    const other = await reapOlderThan(createTinyDriver(machines).driver, {
      selector: OURS,
      createdLabel: "born",
      maxAgeMs: HOUR,
      now: NOW,
    });
    expect(other).toEqual({ ...NOTHING, unknownAge: ["old", "young"] });
  });

  const DOUBTFUL = [undefined, "", "abc", "-5", "1.5", "+5", " 5", "2026-07-15T10:00:00Z"];
  const IMPLAUSIBLE = ["0", "1420070399", "1752573600000", "17525736001752573600", "00000000000000000001"];

  it.each([...DOUBTFUL, ...IMPLAUSIBLE])(
    "S162, S163, S164, S165, S166: a label %j tells no age: kept at any maximum, and reported",
    async (created) => {
      for (const maxAge of [1, HOUR, 3650 * DAY]) {
        const { driver, asked } = createTinyDriver([stamped("doubtful", created)]);
        expect(await reap(driver, maxAge)).toEqual({ ...NOTHING, unknownAge: ["doubtful"] });
        expect(asked).toEqual([]);
      }
    },
  );

  it("S162: one of unknown age does not save the others", async () => {
    const { driver } = createTinyDriver([stamped("doubtful"), aged("old", 2 * HOUR)]);
    expect(await reap(driver)).toEqual({ ...NOTHING, destroyed: ["old"], unknownAge: ["doubtful"] });
  });

  it("S167: one exactly as old as the maximum survives, a millisecond more does not", async () => {
    const { driver, left } = createTinyDriver([aged("exactly", HOUR), aged("older", HOUR + 1)]);
    expect(await reap(driver)).toEqual({ ...NOTHING, destroyed: ["older"] });
    expect([...left.keys()]).toEqual(["exactly"]);
  });

  it("S168: one created in the future survives, by either stamp; from an hour ahead on its age is unknown", async () => {
    const { driver } = createTinyDriver([
      aged("soon", -HOUR),
      aged("skewed", -DAY),
      stamped("labelled", seconds(NOW + DAY)),
    ]);
    expect(await reap(driver)).toEqual({ ...NOTHING, unknownAge: ["skewed", "labelled"] });
  });

  it("S170: one created a second from now survives the smallest maximum there is", async () => {
    const { driver } = createTinyDriver([aged("skewed", -SECOND), aged("now", 0), aged("old", 2)]);
    expect(await reap(driver, 1)).toEqual({ ...NOTHING, destroyed: ["old"] });
  });

  it("S181: is counted from the time given, never from a clock", async () => {
    vi.spyOn(Date, "now").mockImplementation(() => {
      throw new Error("somebody read the clock");
    });
    const at = async (now: number) => {
      const { driver } = createTinyDriver([aged("1", 0)]);
      return (await reapOlderThan(driver, { selector: OURS, createdLabel: LABEL.created, maxAgeMs: HOUR, now }))
        .destroyed;
    };
    expect(await at(NOW + HOUR)).toEqual([]);
    expect(await at(NOW + HOUR + 1)).toEqual(["1"]);
  });
});

describe("what is refused before anything is listed", () => {
  const list = vi.fn<Driver["list"]>(async () => []);
  const { driver } = createTinyDriver([], { list });
  beforeEach(() => list.mockClear());

  it.each([
    ["zero, which would mean everything", 0],
    ["minus zero", -0],
    ["a negative one", -1],
    ["minus infinity", -Infinity],
    ["one that is not a number", Number.NaN],
    ["infinity", Infinity],
    ["a text that does not read as a number", Number("3x")],
  ])("S169, S171, S172, X3: a maximum age: %s", async (_, maxAge) => {
    await expect(reap(driver, maxAge)).rejects.toMatchObject({ code: "invalid_input", problem: { field: "max_age" } });
    expect(list).not.toHaveBeenCalled();
  });

  it.each<[string, Selector]>([
    ["no key", {}],
    ["an empty value", { [LABEL.managed]: "" }],
    ["empty values only", { a: "", b: [] }],
    ["no value to choose from", { a: [] }],
    ["an empty value to choose from", { a: [""], b: ["", ""] }],
  ])("S173: a selector that narrows nothing down: %s", async (_, selector) => {
    await expect(reap(driver, HOUR, selector)).rejects.toMatchObject({
      code: "invalid_input",
      problem: { field: "selector" },
    });
    expect(list).not.toHaveBeenCalled();
  });

  it("S172: a time that is not a number", async () => {
    await expect(
      reapOlderThan(driver, { selector: OURS, createdLabel: LABEL.created, maxAgeMs: HOUR, now: Number.NaN }),
    ).rejects.toMatchObject({
      problem: { field: "now" },
    });
    expect(list).not.toHaveBeenCalled();
  });
});

describe("the list", () => {
  it("is asked for with the selector, and with the age that is of interest", async () => {
    const list = vi.fn<Driver["list"]>(async () => []);
    await reap(createTinyDriver([], { list }).driver);
    expect(list.mock.calls).toEqual([[OURS, { olderThan: NOW - HOUR }]]);
  });

  it("S174: when it fails, nothing is destroyed and its own error surfaces", async () => {
    const failure = new DriverError("unauthorized", "the provider answered 401");
    const { driver, asked } = createTinyDriver([aged("1", DAY)], { list: () => Promise.reject(failure) });
    await expect(reap(driver)).rejects.toBe(failure);
    expect(asked).toEqual([]);
  });

  it("S76, S174: when page two fails, page one is handed on in the error and nothing of it is destroyed", async () => {
    const partial = [aged("1", DAY), aged("2", DAY)];
    const failure = new DriverError("unavailable", "page 2 did not come", { retryable: true, partial });
    const { driver, asked } = createTinyDriver(partial, { list: () => Promise.reject(failure) });
    await expect(reap(driver)).rejects.toMatchObject({ code: "unavailable", partial });
    expect(asked).toEqual([]);
  });

  it("S80: a provider that ignores the selector kills nobody else's machine", async () => {
    const { driver, asked } = createTinyDriver([
      aged("ours", DAY),
      aged("unlabelled", DAY, { labels: {} }),
      aged("half", DAY, { labels: { [LABEL.managed]: "true" } }),
      aged("foreign", DAY, { labels: { ...OUR_LABELS, [LABEL.installation]: "sibling-installation" } }),
    ]);
    const selector = { [LABEL.managed]: "true", [LABEL.installation]: [OUR_LABELS[LABEL.installation]] };
    expect(await reap(driver, HOUR, selector)).toEqual({ ...NOTHING, destroyed: ["ours"] });
    expect(asked).toEqual(["ours"]);
  });
});

describe("the report", () => {
  const three = [aged("1", DAY), aged("2", DAY), aged("3", DAY)];

  it("S175, P73, X4: one that cannot be destroyed stops nothing: the others go, its error is told", async () => {
    const failure = new DriverError("locked", "the provider answered 423 locked", { retryable: true });
    const { driver, asked } = failingFor(three, { "2": failure });
    expect(await reap(driver)).toEqual({
      ...NOTHING,
      destroyed: ["1", "3"],
      errors: [{ providerId: "2", error: failure }],
    });
    expect(asked).toEqual(["1", "3"]);
  });

  it("S176: every error says whose it is", async () => {
    const { driver } = failingFor(three, {
      "1": new DriverError("protected", "protected"),
      "3": new DriverError("unavailable", "unavailable"),
    });
    const { errors, destroyed } = await reap(driver);
    expect(errors.map(({ providerId, error }) => [providerId, codeOf(error)])).toEqual([
      ["1", "protected"],
      ["3", "unavailable"],
    ]);
    expect(destroyed).toEqual(["2"]);
  });

  it("S177, P74, X5: one that vanished after the list counts as destroyed", async () => {
    const cloud = emptyCloud();
    cloud.machines.set("mem-1", aged("mem-1", DAY));
    const driver = createMemoryDriver({ now: () => NOW, cloud });
    const list: Driver["list"] = async (selector, options) => {
      const listed = await driver.list(selector, options);
      cloud.machines.clear();
      return listed;
    };
    expect(await reap({ ...driver, list })).toEqual({ ...NOTHING, destroyed: ["mem-1"] });
  });

  it("S178: one that is being deleted counts as destroyed, without a call", async () => {
    const { driver, asked } = createTinyDriver([
      aged("dying", DAY, { status: "deleting" }),
      aged("young", MINUTE, { status: "deleting" }),
    ]);
    expect(await reap(driver)).toEqual({ ...NOTHING, destroyed: ["dying"] });
    expect(asked).toEqual([]);
  });

  it("S179: is in the provider's order, and empty where there was nothing to do", async () => {
    const { driver } = createTinyDriver(["9", "10", "1", "5"].map((id) => aged(id, DAY)));
    expect((await reap(driver)).destroyed).toEqual(["9", "10", "1", "5"]);
    expect(await reap(driver)).toEqual(NOTHING);
  });

  it("names apart what the driver had a reason to spare, and goes on", async () => {
    const { driver } = failingFor(three, { "1": new Withheld("kept", "live"), "2": new Withheld("held", "blast cap") });
    expect(await reap(driver)).toEqual({
      ...NOTHING,
      destroyed: ["3"],
      kept: [
        { providerId: "1", reason: "live" },
        { providerId: "2", reason: "blast cap" },
      ],
    });
  });
});

describe("S180: stopped early", () => {
  const old = ["1", "2", "3", "4", "5", "6", "7"];
  const machines = [
    ...old.map((id) => aged(id, DAY)),
    aged("8", DAY, { status: "deleting" }),
    aged("young", MINUTE),
    stamped("doubtful"),
  ];
  /** Five are under way when the first of them ends. */
  const five = { destroyed: ["1", "2", "3", "4", "5", "8"], remaining: ["6", "7"], unknownAge: ["doubtful"] };

  it("S180: by its deadline, it destroys no more than what is under way and reports what remains", async () => {
    const deadline = new AbortController();
    const tiny = createTinyDriver(machines);
    const destroy: Driver["destroy"] = async (providerId) => {
      await tiny.driver.destroy(providerId);
      await scheduler.wait(0);
      deadline.abort();
    };
    expect(await reap({ ...tiny.driver, destroy }, HOUR, OURS, deadline.signal)).toEqual({ ...NOTHING, ...five });
    expect(tiny.asked).toEqual(old.slice(0, 5));
  });

  it("S180: by the budget, likewise", async () => {
    const spent = new Withheld("budget", "spent");
    const tiny = failingFor(machines, { "2": spent, "6": new DriverError("unexpected", "was tried") });
    const destroy: Driver["destroy"] = async (providerId) => {
      // The second is the first to end.
      await scheduler.wait(providerId === "2" ? 0 : 10);
      await tiny.driver.destroy(providerId);
    };
    const reaped = await reap({ ...tiny.driver, destroy });
    expect(reaped).toMatchObject({ destroyed: ["1", "3", "4", "5", "8"], remaining: ["2", "6", "7"], errors: [] });
    expect(tiny.asked).toEqual(["1", "3", "4", "5"]);
  });

  it("S180: the next run takes up what remained", async () => {
    const { driver } = createTinyDriver(machines);
    expect((await reap(driver, HOUR, OURS, AbortSignal.abort())).remaining).toEqual(old);
    expect(await reap(driver)).toMatchObject({ destroyed: [...old, "8"], remaining: [] });
  });
});
