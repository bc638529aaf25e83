import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DriverError } from "../../../src/driver/driver.ts";
import { toLabelSelector } from "../../../src/driver/hetzner/selector.ts";
import { isLabelKey, isLabelValue, LABEL } from "../../../src/machine/labels.ts";
import type { Selector } from "../../../src/machine/selector.ts";
import { reapOlderThan } from "../../../src/reaper/reap-older-than.ts";
import { failureOf, HOUR, NOW } from "../contract/cloud.ts";
import { openCanned, openSimulated, pageOf, serverJson } from "./bench.ts";

/** The query of the one request that listing by this selector makes. */
async function queryOf(selector: Selector): Promise<URLSearchParams> {
  const { driver, sent } = openCanned(() => pageOf([]));
  await driver.list(selector);
  expect(sent).toHaveLength(1);
  return sent[0]?.url.searchParams ?? new URLSearchParams();
}

describe("the label selector", () => {
  it("S71, S72: keys in ascending order, joined by commas, so that equal selectors make equal requests", async () => {
    const text = "B==2,a==1,mayfly-uid in (x,y),z==";
    expect((await queryOf({ z: "", a: "1", "mayfly-uid": ["x", "y"], B: "2" })).get("label_selector")).toBe(text);
    expect((await queryOf({ B: "2", "mayfly-uid": ["x", "y"], a: "1", z: "" })).get("label_selector")).toBe(text);
  });

  it("S73: reaches the API percent-encoded, as one parameter", async () => {
    const { driver, sent } = openCanned(() => pageOf([]));
    await driver.list({ "example.com/a": ["1", "2"], b: "3" });
    expect(sent[0]?.url.search).toContain("label_selector=b%3D%3D3%2Cexample.com%2Fa%20in%20(1%2C2)&");
  });

  it("S74: an empty one is not sent at all", async () => {
    expect([...(await queryOf({})).keys()]).toEqual(["sort", "page", "per_page"]);
  });

  it("S71: one of no values is nothing, which needs no asking; Hetzner has no word for it", async () => {
    const { driver, sent } = openCanned(() => pageOf([serverJson()]));
    expect(await driver.list({ a: "1", b: [] })).toEqual([]);
    expect(sent).toEqual([]);
  });

  it.each([
    { a: "1&per_page=1" },
    { a: "x,!keep" },
    { a: "1 " },
    { a: "(1)" },
    { a: "1#" },
    { a: ["ok", "b,c"] },
    { a: ["ok", ")"] },
    { "a,b": "1" },
    { "a==b": "1" },
    { "!a": "1" },
    { "": "1" },
    { "a in": "1" },
  ])("S73: %j could change the query, and is never sent", async (selector) => {
    const { driver, sent } = openCanned(() => pageOf([]));
    expect(await failureOf(driver.list(selector))).toMatchObject({ code: "invalid_input", retryable: false });
    expect(sent).toEqual([]);
  });

  it.each(["My Team, prod", "team:a", "https://x.y", "a=b"])(
    "case 24: %j as a value is refused here, not by the API's parser",
    async (value) => {
      const { driver, sim } = openSimulated();
      expect(await failureOf(driver.list({ [LABEL.owner]: value }))).toMatchObject({
        code: "invalid_input",
        problem: { field: `selector.${LABEL.owner}` },
      });
      expect(sim.requests()).toEqual([]);
    },
  );

  it("S73: whatever is asked for, the query has one selector with one term a key, or there is none", () => {
    const word = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[A-Za-z0-9._/-]{0,10}$/),
      fc.constantFrom("a", "in", "notin"),
    );
    const selector = fc.dictionary(word, fc.oneof(word, fc.array(word, { minLength: 1, maxLength: 3 })));
    fc.assert(
      fc.property(selector, (wanted) => {
        const terms = Object.entries(wanted);
        const isFine = terms.every(([key, values]) => isLabelKey(key) && [values].flat().every(isLabelValue));
        expect(sentTerms(wanted)).toEqual(isFine ? sorted(terms) : "refused");
      }),
    );
  });

  it("S80: a list that ignored the selector cannot make the reaper destroy what it was not asked for", async () => {
    const { driver, sim } = openSimulated();
    const created = new Date(NOW - 48 * HOUR).toISOString();
    const mine = sim.addServer({ name: "mine", labels: { a: "1", b: "2" }, created });
    sim.addServer({ name: "half", labels: { a: "1" }, created });
    sim.addServer({ name: "foreign", created });
    const deaf = openCanned(({ url, init }) => {
      url.searchParams.delete("label_selector");
      return sim.fetch(new Request(url.href, init));
    });
    expect(await deaf.driver.list({ a: "1" })).toHaveLength(3);
    const reaped = await reapOlderThan(deaf.driver, {
      selector: { a: "1", b: "2" },
      createdLabel: "created",
      maxAgeMs: 24 * HOUR,
      now: NOW,
    });
    expect(reaped.destroyed).toEqual([String(mine.id)]);
    expect((await driver.list({})).map(({ name }) => name)).toEqual(["half", "foreign"]);
  });

  it("P54, case 12: servers without `datacenter`, with fields from tomorrow or odd values are listed all the same", async () => {
    const { driver } = openCanned(() =>
      pageOf([
        serverJson({ id: 1, status: "invented_tomorrow", quantum: { spin: 1 } }),
        serverJson({ id: 2, labels: null, public_net: null, private_net: null, server_type: null, location: null }),
        serverJson({ id: 3, created: 7, status: 5, name: null, protection: "no", labels: { a: 1, b: "2" } }),
        { id: 4 },
      ]),
    );
    const listed = await driver.list({});
    expect(listed.map(({ providerId, status }) => [providerId, status])).toEqual([
      ["1", "unknown"],
      ["2", "running"],
      ["3", "unknown"],
      ["4", "unknown"],
    ]);
    expect(listed[2]?.labels).toEqual({ b: "2" });
  });
});

const sorted = (terms: [string, string | string[]][]) =>
  terms.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, values]) => [key, values]);

/** The terms that a server would read out of the URL, unless the selector is refused. */
function sentTerms(selector: Selector): unknown {
  try {
    const { searchParams } = new URL(
      `https://x.test/?label_selector=${encodeURIComponent(toLabelSelector(selector))}&p=1`,
    );
    return searchParams.size === 2 ? readBack(searchParams.get("label_selector") ?? "") : [...searchParams];
  } catch (error) {
    return error instanceof DriverError ? "refused" : error;
  }
}

// Not the driver's code read backwards: a comma that is not between parentheses ends a term.
const readBack = (text: string) =>
  text === ""
    ? []
    : text.split(/,(?![^(]*\))/).map((term) => {
        const set = /^(\S+) in \((.*)\)$/.exec(term);
        return set ? [set[1], (set[2] ?? "").split(",")] : term.split("==");
      });
