import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { onD1 } from "../world/database.ts";
import { openProvider } from "../world/provider.ts";
import { MINUTE, NOW } from "../world/settings.ts";
import { openBooks } from "./books.ts";
import { judgeIsolation } from "./isolation.ts";

const uidOf = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;
const answer = (status: number, owner: string, name: string, number: number) => ({
  status,
  text: JSON.stringify({ machine: { id: `mch_${uidOf(number)}`, owner, name } }),
});

function open() {
  const clock = { now: NOW, skew: 0, ahead: 0 };
  const books = openBooks();
  const { simulator } = openProvider(clock, books, async () => () => {});
  return { clock, books, judge: judgeIsolation(simulator, onD1(env.DB), books, clock) };
}

describe("I9: what callers are told is held against whose it is", () => {
  let opened = open();
  beforeEach(() => {
    opened = open();
    opened.judge.orders("tok.eve", "a", "0")(answer(201, "tok.eve", "a", 1));
  });

  it("one's own is nothing to be said against, nor another's of one's account by its owner", () => {
    const { judge, books } = opened;
    judge.check("tok.eve", answer(200, "tok.eve", "a", 1), "GET");
    judge.check("gh.74.9001", { status: 429, text: '{"machines":[{"owner":"gh.74.9002"}]}' }, "PUT");
    expect(books.broken).toEqual([]);
  });

  it("another's machine, and another's owner", () => {
    const { judge, books } = opened;
    judge.check("tok.bob", { status: 404, text: `no mch_${uidOf(1)}` }, "GET");
    judge.check("tok.bob", { status: 429, text: '{"owner":"tok.eve"}' }, "PUT");
    expect(books.broken).toEqual([
      expect.stringMatching(/^I9: GET tells tok.bob of .*tok.eve's/),
      "I9: PUT tells tok.bob of tok.eve",
    ]);
  });

  it("an answer about another name, and one machine for two specs", () => {
    const { judge, books } = opened;
    judge.orders("tok.bob", "b", "0")(answer(201, "tok.bob", "a", 2));
    judge.orders("tok.eve", "a", "1")(answer(200, "tok.eve", "a", 1));
    expect(books.broken).toEqual([
      expect.stringMatching(/^I9: tok.bob asked for b/),
      expect.stringMatching(/^I3: .*spec/),
    ]);
  });

  it("a name that is made anew though it is forbidden, until it is not", () => {
    const { judge, books, clock } = opened;
    judge.forbids("tok.bob", "b", NOW + 10 * MINUTE);
    judge.orders("tok.bob", "b", "0")(answer(201, "tok.bob", "b", 3));
    clock.now += 10 * MINUTE;
    judge.orders("tok.bob", "b", "0")(answer(201, "tok.bob", "b", 4));
    expect(books.broken).toEqual(["I3: b of tok.bob was made though it is forbidden"]);
  });

  it("another's machine that a call by its id answers for", async () => {
    const { judge, books } = opened;
    const hears = await judge.untouched(uidOf(1));
    await hears(answer(200, "tok.eve", "a", 1), "GET");
    const again = await judge.untouched(uidOf(1));
    await again({ status: 404, text: "" }, "GET");
    expect(books.broken).toEqual(["I9: GET was answered with 200"]);
  });
});
