import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import { ConnectionDropped } from "../../simulator/simulator.ts";
import { openBooks } from "../judge/books.ts";
import type { Owner } from "../world/callers.ts";
import { billedOf, chargesOf } from "./charges-by-hand.ts";
import type { Act } from "../history.ts";
import { openLeases } from "../judge/leases.ts";
import { endsAt } from "../judge/life.ts";
import { openWatch } from "../judge/watch.ts";
import { SMALL } from "../kinds/small.ts";
import { openMoney } from "./money.ts";
import { checkToldCosts } from "./money-end.ts";
import { openProvider } from "../world/provider.ts";
import { ADOPTION, HOUR, MINUTE, MONTH_END, NOW } from "../world/settings.ts";

// An hour of cx23 costs 0.011424 in fsn1, its address included. All together may cost 0.09 in a month, bob's account 0.04.

const uidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** A judge, and a mayfly of which it sees no more than its calls and its answers. */
function open(now = NOW) {
  const clock = { now, skew: 0, ahead: 0 };
  const books = openBooks();
  const { rules } = SMALL;
  const leases = openLeases(clock, rules, (what) => void books.broken.push(what));
  const bare = openProvider(clock, books, openWatch({ books, leasesOf: () => leases, rules, clock }));
  const money = openMoney(clock, bare, books, env.INSTALLATION, leases, rules);
  const provider = money.watching();
  let uids = 0;
  const reads = new Set<number>();

  const call = (method: string, path: string, body?: unknown) => {
    const init = {
      method,
      headers: { Authorization: "Bearer t" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return provider.call(new Request(`https://api.hetzner.cloud/v1${path}`, init), env.INSTALLATION, reads);
  };
  /** A create that mayfly sends for somebody; answers the machine's uid and id. */
  async function post(owner: Owner, name: string, ms: number, type = "cx23") {
    const uid = uidOf(++uids);
    leases.create({ owner, name }, { ttl: ms, keep: null, longest: null, isEvent: false });
    const labels = {
      [LABEL.managed]: "true",
      [LABEL.installation]: env.INSTALLATION,
      [LABEL.uid]: uid,
      [LABEL.owner]: owner,
      // Wrong on purpose: the judge knows whose it is.
      [LABEL.account]: "somebody-elses",
      [LABEL.name]: name,
      [LABEL.expires]: String(Math.floor((clock.now + ms) / 1000)),
      [LABEL.max]: String(Math.floor((clock.now + rules.maxAge) / 1000)),
    };
    const public_net = { enable_ipv4: true, enable_ipv6: true };
    await call("POST", "/servers", {
      name: `${name}-${uids}`,
      server_type: type,
      location: "fsn1",
      image: "debian-13",
      labels,
      public_net,
    });
    return { uid, id: provider.simulator.state().servers.at(-1)?.id ?? 0 };
  }
  /** Its owner's word, and what mayfly does about it. */
  async function destroy({ uid, id }: { readonly uid: string; readonly id: number }): Promise<void> {
    const life = leases.of(uid);
    if (life !== undefined) leases.word(life);
    await call("GET", `/servers/${id}`);
    await call("DELETE", `/servers/${id}`);
  }
  /** Somebody asks, and is answered: a move by the end that it comes to, a refusal by its code. */
  function ask(act: Act, answer: { status: number; body: unknown }): void {
    money.asked(act)({ status: answer.status, text: JSON.stringify(answer.body) });
  }
  const movedTo = (uid: string, to: number) => ({
    status: 200,
    body: { machine: { id: `mch_${uid}`, expires_at: new Date(to).toISOString() } },
  });
  const movesTo = (uid: string, to: number): void => {
    const life = leases.of(uid);
    if (life !== undefined) endsAt(life, to);
  };
  const goodTicks = (count: number): void => {
    for (let tick = 0; tick < count; tick++) {
      clock.now += MINUTE;
      money.afterTick(true);
    }
  };
  return { clock, books, money, provider, post, destroy, ask, movedTo, movesTo, goodTicks };
}

const REFUSED = { status: 429, body: { code: "limit_money", rule: "must not cost more" } };
const renew = { do: "renew", owner: "tok.ann", name: "a", ttl: "3h" } as const;
const create = { do: "create", owner: "tok.bob", name: "b", ttl: "1h", spec: 0 } as const;

describe("I6: what is let through", () => {
  it("may come to a month's limit, and no further", async () => {
    const { books, post } = open();
    await post("tok.ann", "a", 4 * HOUR);
    await post("tok.ann", "b", 3 * HOUR);
    expect(books.broken).toEqual([]);
    await post("gh.74.9001", "a", 30 * MINUTE);
    expect(books.broken).toEqual([
      expect.stringMatching(/^I6: a create of gh.74.9001\/a .* all come to too much in 2026-11: 91392 of 90000/),
    ]);
  });

  it("counts against its account by its owner, whatever a label says", async () => {
    const { books, post, destroy, clock } = open();
    const box = await post("tok.bob", "a", 2 * HOUR);
    clock.now += 110 * MINUTE;
    await destroy(box);
    // What was billed stays: two hours, and two more are one too many.
    await post("tok.bob", "b", 80 * MINUTE);
    expect(books.broken).toEqual([expect.stringMatching(/pol.narrow come to too much in 2026-11: 45696 of 40000/)]);
  });

  it("counts each month by itself", async () => {
    const { books, post } = open(MONTH_END - 30 * MINUTE);
    await post("tok.bob", "a", 3 * HOUR);
    expect(books.broken).toEqual([]);
    const late = open(MONTH_END - 30 * MINUTE);
    await late.post("tok.bob", "a", 5 * HOUR);
    expect(late.books.broken).toEqual([expect.stringMatching(/in 2026-12: 45696 of 40000/)]);
  });

  it("may be so many of an account and of all, and cost so much an hour", async () => {
    const { books, post } = open();
    await post("tok.bob", "a", MINUTE);
    await post("tok.bob", "b", MINUTE);
    expect(books.broken).toEqual([expect.stringMatching(/pol.narrow come to too many: 2 of 1/)]);
    const hourly = open();
    for (const name of ["a", "b"]) await hourly.post("gh.74.9001", name, MINUTE, "cx33");
    expect(hourly.books.broken).toEqual([expect.stringMatching(/gh.74 come to too much an hour: 36176 of 30000/)]);
    const all = open();
    for (const name of ["a", "b", "c", "d"]) await all.post("tok.ann", name, MINUTE);
    expect(all.books.broken).toEqual([expect.stringMatching(/all come to too many: 4 of 3/)]);
  });

  it("counts a machine past its end for as long as it is there", async () => {
    const { books, post, clock } = open();
    await post("tok.ann", "a", MINUTE);
    clock.now += 7 * HOUR + MINUTE;
    await post("tok.bob", "a", MINUTE);
    expect(books.broken).toEqual([expect.stringMatching(/all come to too much in 2026-11: 102816 of 90000/)]);
  });

  it("counts a create whose answer was cut off, for as long as a row holds it", async () => {
    const { books, post, provider, clock } = open();
    provider.fault({ do: "fault", on: "create", effect: "cut_before", skip: 0, times: 1 });
    await expect(post("tok.bob", "a", HOUR)).rejects.toBeInstanceOf(ConnectionDropped);
    await post("tok.bob", "b", MINUTE);
    expect(books.broken).toEqual([expect.stringMatching(/pol.narrow come to too many/)]);
    books.broken.length = 0;
    clock.now += 20 * MINUTE;
    await post("tok.ann", "a", MINUTE);
    await post("tok.ann", "b", MINUTE);
    expect(books.broken).toEqual([]);
  });

  it("is an end that is moved, where that costs more", async () => {
    const { books, post, ask, movedTo, movesTo, clock } = open();
    const { uid } = await post("tok.ann", "a", 30 * MINUTE);
    await post("tok.ann", "b", 4 * HOUR);
    ask(renew, movedTo(uid, clock.now + 150 * MINUTE));
    expect([books.broken, books.money.get("renewals let through")]).toEqual([[], 1]);
    ask(renew, movedTo(uid, clock.now + 4 * HOUR - MINUTE));
    expect(books.broken).toEqual([expect.stringMatching(/^I6: a renew of tok.ann\/a .* in 2026-11: 91392 of 90000/)]);
    books.broken.length = 0;
    // Within the same started hour it costs nothing more.
    movesTo(uid, clock.now + 4 * HOUR - MINUTE);
    ask(renew, movedTo(uid, clock.now + 4 * HOUR - MINUTE / 2));
    expect(books.broken).toEqual([]);
  });
});

describe("I6: what no mayfly can know is tolerated, and counted", () => {
  const tolerated = ({ money }: { money: ReadonlyMap<string, number> }) =>
    [...money.keys()].filter((what) => what.startsWith("tolerated"));

  it("what D1 has lost, until it is found again", async () => {
    const { books, money, post, goodTicks } = open();
    await post("tok.ann", "a", 4 * HOUR);
    await post("tok.ann", "b", 3 * HOUR);
    money.lost(false);
    await post("gh.74.9001", "a", MINUTE);
    expect([books.broken, tolerated(books)]).toEqual([[], ["tolerated: d1_lost"]]);
    goodTicks(ADOPTION / MINUTE);
    await post("gh.74.9001", "b", MINUTE);
    expect(books.broken).toHaveLength(2);
  });

  it("what was gone when D1 was lost, for good; not what a copy knew that is restored", async () => {
    const play = async (isRestored: boolean) => {
      const { books, money, post, destroy, clock, goodTicks } = open();
      const box = await post("tok.bob", "a", 3 * HOUR);
      clock.now += 170 * MINUTE;
      await destroy(box);
      money.copied();
      money.lost(isRestored);
      goodTicks(ADOPTION / MINUTE);
      await post("tok.bob", "b", MINUTE);
      return books.broken.length;
    };
    expect([await play(false), await play(true)]).toEqual([0, 1]);
  });

  it("one started hour a machine, once clocks have differed", async () => {
    const { books, money, post } = open();
    money.otherClocks();
    await post("tok.bob", "a", 4 * HOUR);
    expect([books.broken, tolerated(books)]).toEqual([[], ["tolerated: clocks"]]);
    await post("tok.ann", "a", 7 * HOUR);
    expect(books.broken).toEqual([expect.stringMatching(/all come to too much/)]);
  });

  it("prices that were not asked for yet", async () => {
    const { books, money, post } = open();
    money.price(150);
    await post("tok.bob", "a", 3 * HOUR);
    expect([books.broken, tolerated(books)]).toEqual([[], ["tolerated: prices"]]);
    await post("tok.ann", "a", 6 * HOUR);
    expect(books.broken).toEqual([expect.stringMatching(/all come to too much/)]);
  });

  it("what others overstayed since a create began that was cut off", async () => {
    const { books, money, post, clock } = open();
    await post("tok.ann", "a", MINUTE);
    const { owner } = create;
    money.asked({ ...create, owner })(undefined);
    clock.now += 7 * HOUR;
    await post("tok.bob", "b", MINUTE);
    expect([books.broken, tolerated(books)]).toEqual([[], ["tolerated: overstayed"]]);
  });
});

describe("I6: what is refused", () => {
  const refused = ({ ask, books }: ReturnType<typeof open>, act: Act = create) => {
    ask(act, REFUSED);
    return books.broken;
  };

  it("must be near a limit, or somebody was refused for nothing", async () => {
    expect(refused(open())).toEqual(["I6: a create of tok.bob/b was refused within every limit"]);
    const near = open();
    await near.post("tok.bob", "a", HOUR);
    expect(refused(near)).toEqual([]);
    // What is destroyed may count as if it lived, until that can have been proven.
    const far = open();
    const box = await far.post("tok.ann", "a", 7 * HOUR);
    await far.destroy(box);
    const more = { ...create, owner: "tok.ann", ttl: "60s" } as const;
    expect(refused(far, more)).toEqual([]);
    far.goodTicks(2);
    expect(refused(far, more)).toHaveLength(1);
  });

  it("is not judged where another call was under way, or D1 had changed", () => {
    const busy = open();
    busy.money.asked({ ...create, owner: "tok.ann" });
    expect(refused(busy)).toEqual([]);
    const lost = open();
    lost.books.strikes.set("d1_changed", 1);
    expect(refused(lost)).toEqual([]);
  });

  it("reckons with a create that is told of as under way before the provider has shown it", async () => {
    const late = open();
    late.provider.fault({ do: "fault", on: "create", effect: "lands_3m", skip: 0, times: 1 });
    const asked = late.money.asked({ ...create, name: "a" });
    await expect(late.post("tok.bob", "a", HOUR)).rejects.toBeInstanceOf(ConnectionDropped);
    asked({ status: 503, text: "{}" });
    late.ask({ ...create, name: "a" }, { status: 200, body: { machine: { status: "creating" } } });
    expect(refused(late)).toEqual([]);
  });

  it("reckons with a create whose answer was lost", () => {
    const lost = open();
    lost.money.asked({ ...create, name: "a" })(undefined);
    expect(refused(lost)).toEqual([]);
  });
});

describe("I6: what machines have cost", () => {
  it("is billed by the simulator as the judge counts it, across a month's end and up to a month's price", async () => {
    const { money, post, provider, clock, books } = open(MONTH_END - 30 * MINUTE);
    money.price(150);
    await post("tok.ann", "a", HOUR, "cx33");
    clock.now += 32 * 24 * HOUR;
    money.checkBill();
    const [billed] = provider.simulator.bill().servers;
    const order = { type: "cx33", region: "fsn1", hasIpv4: true };
    expect(billed && billedOf(billed)).toEqual(chargesOf(order, 150, billed?.born_ms ?? 0, clock.now));
    expect(books.broken).toEqual([]);
  });

  it.each([
    [22_848, true],
    [11_424, false],
    [34_272, false],
    [null, false],
  ])("told as %s micro-EUR for two hours: right %s", async (cost, isRight) => {
    const { money, post, destroy, provider, clock, books, goodTicks } = open();
    const box = await post("tok.ann", "a", 3 * HOUR);
    clock.now += 90 * MINUTE;
    await destroy(box);
    goodTicks(2);
    const machines = [{ provider_id: String(box.id), cost_eur: cost === null ? null : cost / 1e6 }];
    const text = JSON.stringify({ machines, meta: { pagination: { next_page: null } } });
    const mayfly = { send: async () => ({ status: 200, text }), tick: async () => null, configure: () => {} };
    await checkToldCosts({ books, mayfly, money });
    expect([provider.simulator.bill().total_micro_eur, books.broken.length]).toEqual([22_848, isRight ? 0 : 1]);
  });
});
