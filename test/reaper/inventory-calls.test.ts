import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { behind, between } from "../behind.ts";
import { createMayfly, minutes, MINUTE, servers, type Mayfly } from "../mayfly.ts";
import { live, lostRow, reconciled, UID } from "./lost-rows.ts";

const uidOf = (number: number) => UID.replace("4d11", `4${String(number).padStart(3, "0")}`);

/** Machines with rows, adopted by a first pass; of ids that are given, if they are. */
async function fleet(count: number, idOf?: (number: number) => number): Promise<Mayfly> {
  const mayfly = createMayfly({ PLAN: "paid" });
  for (let number = 0; number < count; number++)
    mayfly.simulator.addServer({
      ...lostRow(`m${number}`, uidOf(number)),
      ...(idOf && { id: idOf(number) }),
    });
  mayfly.advance(16 * MINUTE);
  await minutes(mayfly, 3);
  expect(await live(mayfly)).toHaveLength(Math.min(count, 25));
  return mayfly;
}

const isByUid = (query: string) => query.includes("mayfly-uid");

/** What a whole pass asks the provider: pages of all machines, and lists of some by their uids. */
async function passOf(mayfly: Mayfly): Promise<{ pages: number; byUid: number }> {
  const before = mayfly.simulator.requests().length;
  await minutes(mayfly, 16);
  const lists = mayfly.simulator
    .requests()
    .slice(before)
    .filter(({ method, path, query }) => method === "GET" && path === "/v1/servers" && !query.includes("sort=created"));
  const byUid = lists.filter(({ query }) => isByUid(query));
  return { pages: lists.length - byUid.length, byUid: byUid.length };
}

const missing = async (): Promise<number[]> =>
  (await env.DB.prepare("SELECT provider_id FROM machines WHERE missing_since IS NOT NULL").all()).results.map(
    ({ provider_id: id }) => Number(id),
  );

describe("an inventory pass", () => {
  it("reads each page once, and asks for no row that a page has shown", async () => {
    expect(await passOf(await fleet(120))).toEqual({ pages: 4, byUid: 0 });
  });

  it("asks in one list for what a page should have shown and did not", async () => {
    const mayfly = await fleet(120);
    const ids = servers(mayfly).map(({ id }) => id);
    for (const index of [3, 7]) await behind(mayfly, "DELETE", `/servers/${ids[index]}`);
    expect(await passOf(mayfly)).toEqual({ pages: 4, byUid: 1 });
    expect(await missing()).toEqual([ids[3], ids[7]]);
  });

  it("goes by the order of numbers, and not of texts", async () => {
    const ids = [7, 8, 9, 10, 11, 98, 99, 100, 101, 998, 999, 1000];
    const mayfly = await fleet(60, (number) => ids[number] ?? 1_000 + number);
    expect(await passOf(mayfly)).toEqual({ pages: 3, byUid: 0 });
    for (const id of [9, 10, 1059]) await behind(mayfly, "DELETE", `/servers/${id}`);
    expect(await passOf(mayfly)).toEqual({ pages: 3, byUid: 2 });
    expect((await missing()).toSorted((a, b) => a - b)).toEqual([9, 10, 1059]);
  });

  it("looks for a row before the first machine and behind the last, and where there is no machine at all", async () => {
    const mayfly = await fleet(3);
    for (const { id } of servers(mayfly)) await behind(mayfly, "DELETE", `/servers/${id}`);
    await passOf(mayfly);
    expect(await missing()).toHaveLength(3);
  });

  it("looks for the rows of a page that it had to pass over", async () => {
    const mayfly = await fleet(120);
    const gone = servers(mayfly)[70]?.id ?? 0;
    await behind(mayfly, "DELETE", `/servers/${gone}`);
    between(mayfly, async (request, real) =>
      request.url.includes("sort=id") && request.url.includes("page=2&")
        ? Response.json({}, { status: 500 })
        : real(request),
    );
    await minutes(mayfly, 22);
    expect(await missing()).toEqual([gone]);
  });

  it("looks for more than fifty rows of one page's range, fifty by fifty", async () => {
    const mayfly = await fleet(170);
    const gone = servers(mayfly)
      .map(({ id }) => id)
      .slice(20, 140);
    for (const id of gone) await behind(mayfly, "DELETE", `/servers/${id}`);
    expect(await passOf(mayfly)).toEqual({ pages: 1, byUid: 3 });
    expect((await live(mayfly)).length).toBeGreaterThan(0);
    // So much at once is doubted: the marks are taken back, and nothing is lost.
    expect(await missing()).toEqual([]);
  });

  it("asks by uid for the whole range where it could not ask right behind the page", async () => {
    const mayfly = await fleet(120);
    const gone = servers(mayfly)[30]?.id ?? 0;
    await behind(mayfly, "DELETE", `/servers/${gone}`);
    let refused = 1;
    between(mayfly, async (request, real) =>
      isByUid(request.url) && refused-- > 0 ? Response.json({}, { status: 500 }) : real(request),
    );
    expect(await passOf(mayfly)).toEqual({ pages: 4, byUid: 2 });
    expect(await missing()).toEqual([gone]);
    expect(await reconciled(mayfly, 16)).toContain("settled lost");
  });
});
