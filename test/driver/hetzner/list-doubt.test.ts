import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { failureOf, NOW } from "../contract/cloud.ts";
import { openCanned, read, serverJson, TOKEN, type Sent } from "./bench.ts";

interface Shown {
  readonly ids: readonly number[];
  readonly next: number | null;
  readonly last?: number | null;
  /** The number that the page gives itself. */
  readonly page?: number | null;
}

/** A page with what is needed of `meta.pagination`, and null for all else. */
const answer = (plural: string, { ids, next, last = null, page = null }: Shown): Response =>
  Response.json({
    [plural]: ids.map((id) => (plural === "servers" ? serverJson({ id }) : { id, labels: {}, applied_to: [] })),
    meta: {
      pagination: { page, per_page: null, previous_page: null, next_page: next, last_page: last, total_entries: null },
    },
  });

const pageNumber = ({ url }: Sent): number => Number(url.searchParams.get("page"));
const idsOf = (found: readonly { providerId: string }[] = []): string[] => found.map(({ providerId }) => providerId);

/** A project whose lists are these pages; behind them is nothing. */
function open(plural: string, pages: (number: number) => Shown) {
  const respond = (sent: Sent) => answer(plural, pages(pageNumber(sent)));
  const { driver, sent } = openCanned(respond);
  const asked: string[] = [];
  const capabilities = createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    account: { currency: "EUR" },
    fetch: async (input, init) => {
      const request = read(input, init);
      asked.push(String(pageNumber(request)));
      return respond(request);
    },
  });
  return { driver, sent, capabilities, asked };
}

const of =
  (...pages: readonly Shown[]) =>
  (number: number): Shown =>
    pages[number - 1] ?? { ids: [], next: null };

/** Lists that cannot be all there is, with what they show of it, and in how many requests. */
const DOUBTFUL: readonly (readonly [string, readonly Shown[], readonly number[], number])[] = [
  [
    "a page that is served twice",
    [
      { ids: [1, 2], next: 2 },
      { ids: [1, 2], next: 3 },
      { ids: [5], next: null },
    ],
    [1, 2, 5],
    3,
  ],
  [
    "an entry that is on two pages",
    [
      { ids: [1, 2], next: 2 },
      { ids: [2, 3], next: null },
    ],
    [1, 2, 3],
    2,
  ],
  ["an entry that is twice on one page", [{ ids: [1, 1, 2], next: null }], [1, 2], 1],
  ["ids in no order within a page", [{ ids: [2, 1], next: null }], [2, 1], 1],
  [
    "ids in no order from page to page",
    [
      { ids: [5], next: 2 },
      { ids: [4], next: null },
    ],
    [5, 4],
    2,
  ],
  [
    "an empty page and more to come",
    [
      { ids: [1], next: 2 },
      { ids: [], next: 3 },
      { ids: [9], next: null },
    ],
    [1],
    2,
  ],
  [
    "a page that says it is another",
    [
      { ids: [1], next: 2 },
      { ids: [2], next: null, page: 1 },
    ],
    [1, 2],
    2,
  ],
];

describe("a list of machines", () => {
  it.each(DOUBTFUL)("with %s fails, and carries what it showed, each once", async (_, pages, ids, requests) => {
    const { driver, sent } = open("servers", of(...pages));
    const failure = await failureOf(driver.list({}));
    expect([failure.code, idsOf(failure.partial)]).toEqual(["unexpected", ids.map(String)]);
    expect(sent).toHaveLength(requests);
  });

  it.each([
    ["empty pages", () => []],
    ["one page over and over", () => [1, 2]],
  ])("that goes on for ever with %s is ended within three requests", async (_, ids) => {
    for (const options of [{}, { olderThan: NOW }]) {
      const { driver, sent } = open("servers", (page) => ({ ids: ids(), next: page + 1 }));
      expect((await failureOf(driver.list({}, options))).code).toBe("unexpected");
      expect(sent.length).toBeLessThanOrEqual(3);
    }
  });

  it("reads no more pages than whoever asks can afford; more of them is an error with what was read", async () => {
    const pages = of({ ids: [1], next: 2 }, { ids: [2], next: 3 }, { ids: [3], next: null });
    const { driver, sent } = open("servers", pages);
    const failure = await failureOf(driver.list({}, { maxPages: 2 }));
    expect([failure.code, idsOf(failure.partial), sent.length]).toEqual(["unexpected", ["1", "2"], 2]);
    expect(idsOf(await driver.list({}, { maxPages: 3 }))).toEqual(["1", "2", "3"]);
    // Whoever has enough asks for no more.
    expect(idsOf(await driver.list({}, { olderThan: NOW, enough: 2, maxPages: 2 }))).toEqual(["1", "2"]);
  });

  it("by age is asked for in one order where ages are equal, and need not be in the order of ids", async () => {
    const { driver, sent } = open("servers", of({ ids: [9, 4], next: null }));
    expect(idsOf(await driver.list({}, { olderThan: 0 }))).toEqual(["9", "4"]);
    expect(sent.map(({ url }) => url.searchParams.getAll("sort"))).toEqual([["created:asc", "id:asc"]]);
  });
});

describe.each(["firewalls", "networks", "ssh_keys"] as const)("a list of %s", (plural) => {
  const SHAPES = { firewalls: "firewalls", networks: "networks", ssh_keys: "sshKeys" } as const;
  const more = { ip_range: "10.0.0.0/16", routes: [], servers: [], name: "a", public_key: "ssh-ed25519 AAAA" };
  const listOf = (pages: (number: number) => Shown) => {
    const asked: number[] = [];
    const capabilities = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async (input, init) => {
        const number = pageNumber(read(input, init));
        asked.push(number);
        const { ids, next } = pages(number);
        const items = ids.map((id) => Object.assign({ id, labels: {}, applied_to: [] }, more));
        return Response.json({ [plural]: items, meta: { pagination: { next_page: next, page: pages(number).page } } });
      },
    });
    return { resources: capabilities[SHAPES[plural]], asked };
  };

  it.each(DOUBTFUL)("with %s fails: nothing may be taken for absent", async (_, pages) => {
    expect((await failureOf(listOf(of(...pages)).resources.list({}))).code).toBe("unexpected");
  });

  it("of empty pages without end is ended at once, and one of more pages than can be afforded is an error", async () => {
    const endless = listOf((page) => ({ ids: [], next: page + 1 }));
    expect((await failureOf(endless.resources.list({}))).code).toBe("unexpected");
    expect(endless.asked).toEqual([1]);
    const long = listOf((page) => ({ ids: [page], next: page + 1 }));
    expect((await failureOf(long.resources.list({}, { maxPages: 2 }))).code).toBe("unexpected");
    expect(long.asked).toEqual([1, 2]);
  });
});

describe("a page of the inventory", () => {
  it.each(DOUBTFUL.filter(([, pages]) => pages.length === 1))(
    "with %s is not whole, and shows each once",
    async (_, pages, ids) => {
      const page = await open("servers", of(...pages)).capabilities.inventoryPage({}, 1);
      expect([page.isWhole, idsOf(page.machines)]).toEqual([false, ids.map(String)]);
    },
  );

  it.each<[string, Shown]>([
    ["is empty with more to come", { ids: [], next: 3 }],
    ["is followed by another than the next one", { ids: [3], next: 4 }],
    ["says that it is another", { ids: [3], next: 3, page: 1 }],
  ])("that %s is not whole", async (_, second) => {
    const { capabilities } = open("servers", of({ ids: [1], next: 2 }, second));
    expect((await capabilities.inventoryPage({}, 2)).isWhole).toBe(false);
  });

  it("is whole where nothing contradicts it", async () => {
    const { capabilities } = open("servers", of({ ids: [1], next: 2 }, { ids: [2, 3], next: 3, page: 2 }));
    expect(await capabilities.inventoryPage({}, 2)).toMatchObject({ isWhole: true, number: 2 });
  });

  it.each<[string, number | null]>([
    ["says nothing of its end", null],
    ["names an end before it", 1],
    ["names an end in its middle", 3],
    ["names an end far behind it", 900],
    ["names an end that cannot be", 5_000_000],
    ["names its end", 4],
  ])("the last one is found where the list %s", async (_, last) => {
    const shown = (page: number): Shown =>
      page > 4 ? { ids: [], next: null, last } : { ids: [page], next: page < 4 ? page + 1 : null, last };
    const { capabilities, asked } = open("servers", shown);
    const page = await capabilities.inventoryPage({}, null);
    expect([page.number, page.isWhole, idsOf(page.machines)]).toEqual([4, true, ["4"]]);
    expect(asked.length).toBeLessThanOrEqual(5);
  });

  it("the last one is looked for over so many pages and no more", async () => {
    const { capabilities, asked } = open("servers", (page) => ({ ids: [page], next: page + 1 }));
    expect((await failureOf(capabilities.inventoryPage({}, null, { maxPages: 6 }))).code).toBe("unexpected");
    expect(asked).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    expect((await failureOf(capabilities.inventoryPage({}, null))).code).toBe("unexpected");
    expect(asked.length).toBeLessThanOrEqual(7 + 41);
  });

  it("the last one ends at an empty page that has more to come, and is not whole", async () => {
    const { capabilities, asked } = open("servers", (page) => ({ ids: page === 1 ? [1] : [], next: page + 1 }));
    expect(await capabilities.inventoryPage({}, null)).toMatchObject({ number: 2, isWhole: false });
    expect(asked).toEqual(["1", "2"]);
  });
});

describe("a look by name", () => {
  it.each<[string, () => Response]>([
    [
      "with an entry that cannot be read",
      () => Response.json({ servers: [{ name: "ci-1" }], meta: { pagination: { next_page: null } } }),
    ],
    ["that has more pages", () => answer("servers", { ids: [], next: 2 })],
  ])("%s does not say that there is none", async (_, respond) => {
    const { findByName } = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async () => respond(),
    });
    expect((await failureOf(findByName("ci-1"))).code).toBe("unexpected");
  });
});
