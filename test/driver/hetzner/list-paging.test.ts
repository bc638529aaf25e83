import { describe, expect, it } from "vitest";
import { failureOf, HOUR, MINUTE, NOW } from "../contract/cloud.ts";
import { openCanned, openSimulated, pageOf, refusal, serverJson, type Sent } from "./bench.ts";

const MINE = { "mayfly-managed": "true" };
const iso = (at: number): string => new Date(at).toISOString();
const pageNumber = ({ url }: Sent): number => Number(url.searchParams.get("page"));
const idsOf = (machines: readonly { providerId: string }[] | undefined): string[] =>
  (machines ?? []).map(({ providerId }) => providerId);

describe("all pages", () => {
  it.each([
    [0, 1],
    [25, 1],
    [26, 1],
    [50, 1],
    [51, 2],
    [101, 3],
  ])("S75: of %i machines none is missed, in %i requests", async (size, requests) => {
    const { driver, sim, count } = openSimulated();
    const ids = Array.from({ length: size }, (_, index) =>
      String(sim.addServer({ name: `m${index}`, labels: MINE }).id),
    );
    sim.addServer({ name: "foreign" });
    expect(idsOf(await driver.list(MINE))).toEqual(ids);
    expect(count("GET")).toBe(requests);
  });

  it("S75: goes by `next_page` alone, whatever the other figures say", async () => {
    const { driver, sent } = openCanned((request) => {
      const page = pageNumber(request);
      const pagination = { page, per_page: 1, last_page: 1, total_entries: null, next_page: page === 1 ? 2 : null };
      return Response.json({ servers: [serverJson({ id: page })], meta: { pagination } });
    });
    expect(idsOf(await driver.list({}))).toEqual(["1", "2"]);
    expect(sent.map(({ url }) => url.searchParams.get("per_page"))).toEqual(["50", "50"]);
  });

  it("a machine that dies between two pages makes neither an error nor a double", async () => {
    const { driver, sim } = openSimulated();
    const ids = Array.from({ length: 60 }, (_, index) => String(sim.addServer({ name: `m${index}` }).id));
    let doomed: string | null = ids[0] ?? null;
    const shifting = openCanned(async ({ init, url }) => {
      const answer = await sim.fetch(new Request(url.href, init));
      const victim = doomed;
      doomed = null;
      if (victim !== null) await driver.destroy(victim);
      return answer;
    });
    const listed = idsOf(await shifting.driver.list({}));
    // The one that slipped onto the page already read is missed: why absence from a list proves nothing.
    expect(ids.filter((id) => !listed.includes(id))).toEqual([ids[50]]);
    expect(new Set(listed).size).toBe(listed.length);
  });
});

describe("a list that breaks", () => {
  const failures: [string, () => Response | Promise<Response>, string][] = [
    ["a refusal", () => refusal(503, "unavailable"), "unavailable"],
    ["a 401", () => refusal(401, "unauthorized"), "unauthorized"],
    ["a 429", () => refusal(429, "rate_limit_exceeded", null, { "Retry-After": "30" }), "rate_limited"],
    ["a cut connection", () => Promise.reject(new TypeError("lost")), "unavailable"],
    ["a page that is no JSON", () => new Response("<html>"), "unexpected"],
    ["a page without pagination", () => Response.json({ servers: [] }), "unexpected"],
    [
      "a page whose list is none",
      () => Response.json({ servers: {}, meta: { pagination: { next_page: null } } }),
      "unexpected",
    ],
  ];

  it.each(failures)("S76, S79, P58: %s on page 2 fails it, and the error carries page 1", async (_, second, code) => {
    const { driver, sent } = openCanned((request) =>
      pageNumber(request) === 1 ? pageOf([serverJson({ id: 7 })], 2) : second(),
    );
    const error = await failureOf(driver.list({}));
    expect([error.code, idsOf(error.partial)]).toEqual([code, ["7"]]);
    expect(sent).toHaveLength(2);
  });

  it.each(failures)(
    "S79: %s on page 1 carries nothing, which is not the same as no machines",
    async (_, first, code) => {
      const error = await failureOf(openCanned(first).driver.list({}));
      expect([error.code, error.partial]).toEqual([code, []]);
    },
  );

  it("S79: what more is known of the failure survives", async () => {
    const { driver } = openCanned(() => refusal(429, "rate_limit_exceeded", null, { "Retry-After": "30" }));
    expect(await failureOf(driver.list({}))).toMatchObject({ retryable: true, retryAfter: 30, status: 429 });
  });

  it.each([
    ["the same page again", 1, 1],
    ["a page before", 0, 1],
    ["a page that leaves others out", 3, 1],
    ["a page far away", 1_000_000, 1],
    ["no whole number", 1.5, 1],
    ["no number", "2", 1],
  ])("S77: %s as the next one ends it with an error", async (_, next, requests) => {
    const { driver, sent } = openCanned(() => pageOf([serverJson({ id: 7 })], next));
    expect((await failureOf(driver.list({}))).code).toBe("unexpected");
    expect(sent).toHaveLength(requests);
  });

  it("S77: as does a list that goes on for ever", async () => {
    const { driver, sent } = openCanned((request) => {
      const page = pageNumber(request);
      return pageOf([serverJson({ id: page })], page + 1);
    });
    expect((await failureOf(driver.list({}))).code).toBe("unexpected");
    expect(sent).toHaveLength(1000);
  });

  it.each([
    ["no id", { name: "x" }],
    ["an id that is text", serverJson({ id: "43" })],
    ["an id that was rounded", serverJson({ id: 2 ** 53 })],
    ["null", null],
  ])("S76, S157: an entry with %s fails the list, and the others are carried", async (_, odd) => {
    const { driver } = openCanned((request) =>
      pageNumber(request) === 1
        ? pageOf([serverJson({ id: 1 }), odd, serverJson({ id: 2 })], 2)
        : pageOf([serverJson({ id: 3 })]),
    );
    const error = await failureOf(driver.list({}));
    expect([error.code, idsOf(error.partial)]).toEqual(["unexpected", ["1", "2", "3"]]);
  });
});

describe("oldest first", () => {
  const olderThan = NOW - 24 * HOUR;
  const aged = (hours: number, id: number) => serverJson({ id, created: iso(NOW - hours * HOUR) });

  /** Lists these pages with `olderThan` and tells which were asked for. */
  async function pagesRead(pages: readonly (readonly unknown[])[]): Promise<number> {
    const { driver, sent } = openCanned((request) => {
      const page = pageNumber(request);
      return pageOf(pages[page - 1] ?? [], page < pages.length ? page + 1 : null);
    });
    await driver.list({}, { olderThan });
    expect(sent.every(({ url }) => url.searchParams.get("sort") === "created:asc")).toBe(true);
    return sent.length;
  }

  it("stops after a page whose last machine is younger", async () => {
    expect(await pagesRead([[aged(30, 1), aged(23, 2)], [aged(22, 3)], [aged(21, 4)]])).toBe(1);
    expect(await pagesRead([[aged(30, 1)], [aged(29, 2), aged(2, 3)], [aged(1, 4)]])).toBe(2);
  });

  it("goes on while the last one is old enough, or exactly that old", async () => {
    expect(await pagesRead([[aged(30, 1)], [aged(29, 2)], [aged(28, 3)]])).toBe(3);
    expect(await pagesRead([[aged(24, 1)], [aged(23, 2)]])).toBe(2);
  });

  it("is not stopped by a machine of unknown age", async () => {
    const ageless = serverJson({ id: 9, created: null });
    expect(await pagesRead([[aged(30, 1), aged(2, 2), ageless], [aged(1, 3)]])).toBe(2);
    expect(await pagesRead([[ageless], [aged(30, 1)]])).toBe(2);
  });

  it("knows an age by the label where the provider has none", async () => {
    const stamped = serverJson({ id: 9, created: null, labels: { created: String((NOW - HOUR) / 1000) } });
    expect(await pagesRead([[aged(30, 1), stamped], [aged(29, 2)]])).toBe(1);
  });

  it("reads on to the end once a page was out of order, within it or against the one before", async () => {
    expect(await pagesRead([[aged(2, 1), aged(30, 2)], [aged(1, 3)], [aged(40, 4)]])).toBe(3);
    expect(await pagesRead([[aged(30, 1)], [aged(31, 2), aged(2, 3)], [aged(1, 4)]])).toBe(3);
  });

  it("does not lose the order over a machine of unknown age in between", async () => {
    const ageless = serverJson({ id: 9, created: null });
    expect(await pagesRead([[aged(2, 1), ageless, aged(30, 2), aged(1, 3)], [aged(40, 4)]])).toBe(2);
  });

  it("reads no further page once it has enough; where that is all there can be, more is an error with what was read", async () => {
    const pages = [[aged(30, 1), aged(29, 2)], [aged(28, 3)], [aged(27, 4)]];
    const { driver, sent } = openCanned((request) => {
      const page = pageNumber(request);
      return pageOf(pages[page - 1] ?? [], page < pages.length ? page + 1 : null);
    });
    expect(idsOf(await driver.list({}, { olderThan, enough: 3 }))).toEqual(["1", "2", "3"]);
    expect(sent).toHaveLength(2);
    const failure = await failureOf(driver.list({}, { enough: 3 }));
    expect([failure.code, idsOf(failure.partial ?? [])]).toEqual(["unexpected", ["1", "2", "3"]]);
    expect(await driver.list({}, { enough: 5 })).toHaveLength(4);
  });

  it("spares the rest of a big project, and finds all that is old in it", async () => {
    const { driver, sim, count } = openSimulated();
    for (let index = 0; index < 200; index++)
      sim.addServer({ name: `m${index}`, labels: MINE, created: iso(NOW - index * 10 * MINUTE) });
    const listed = await driver.list(MINE, { olderThan });
    expect(listed.filter(({ createdAt }) => (createdAt ?? NOW) < olderThan)).toHaveLength(55);
    expect(count("GET")).toBe(2);
  });
});
