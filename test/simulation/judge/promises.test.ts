import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import { SMALL } from "../kinds/small.ts";
import { openPeople } from "../world/people.ts";
import { openProvider } from "../world/provider.ts";
import { HOUR, MINUTE, NOW } from "../world/settings.ts";
import { openBooks } from "./books.ts";
import { createHealth } from "./health.ts";
import { openJudge, type Ask } from "./judge.ts";
import { createLate, type Quality } from "./late.ts";
import { openLeases } from "./leases.ts";
import { createOwned } from "./owned.ts";
import type { LiveRow } from "./rows.ts";
import { openSecrets } from "./secrets.ts";
import { openWatch } from "./watch.ts";

const { rules } = SMALL;
const ANN = { owner: "tok.ann", name: "a" };
const UID = "00000000-0000-4000-8000-000000000001";
const OTHER = "00000000-0000-4000-8000-000000000002";

/** A judge, and a provider that a mayfly calls as the test says. */
function open() {
  const clock = { now: NOW, skew: 0, ahead: 0 };
  const books = openBooks();
  const leases = openLeases(clock, rules, (what) => void books.broken.push(what));
  const provider = openProvider(clock, books, openWatch({ books, leasesOf: () => leases, rules, clock }));
  const judge = openJudge({ books, clock, leases, provider, installation: env.INSTALLATION });
  const reads = new Set<number>();
  const call = async (method: string, path: string, body?: unknown) => {
    const init = {
      method,
      headers: { Authorization: "Bearer t" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    await provider.call(new Request(`https://api.hetzner.cloud/v1${path}`, init), env.INSTALLATION, reads);
  };
  const seconds = (ms: number) => String(Math.floor(ms / 1000));
  const labels = (end: number, more: Record<string, string> = {}) => ({
    [LABEL.managed]: "true",
    [LABEL.installation]: env.INSTALLATION,
    [LABEL.uid]: UID,
    [LABEL.owner]: ANN.owner,
    [LABEL.name]: ANN.name,
    [LABEL.expires]: seconds(end),
    [LABEL.max]: seconds(NOW + rules.maxAge),
    ...more,
  });
  const post = (name: string, its: Record<string, string>) =>
    call("POST", "/servers", { name, server_type: "cx23", image: "debian-13", labels: its });
  const create = (ttl = 10 * MINUTE, keep: number | null = null): Ask => ({
    do: "create",
    ...ANN,
    ttl,
    keep,
    longest: null,
  });
  const told = (uid: string, end: number, max = NOW + rules.maxAge) => ({
    id: `mch_${uid}`,
    ...ANN,
    status: "running",
    expires_at: new Date(end).toISOString(),
    max_until: new Date(max).toISOString(),
  });
  const answer = (uid: string, end: number, more: { max?: number; status?: number } = {}) => ({
    status: more.status ?? 200,
    text: JSON.stringify({ machine: told(uid, end, more.max) }),
  });
  /** A machine that was asked for with ten minutes, made, and answered. */
  async function lend(keep: number | null = null): Promise<number> {
    const hold = judge.asks(create(10 * MINUTE, keep));
    await post("a", labels(NOW + 10 * MINUTE));
    hold(answer(UID, NOW + 10 * MINUTE, { status: 201 }));
    return provider.simulator.state().servers[0]?.id ?? 0;
  }
  const servers = () => provider.simulator.state().servers;
  return { clock, books, leases, provider, judge, call, labels, post, create, told, answer, lend, servers, reads };
}

describe("what was asked for is worked out by the judge itself", () => {
  it("I4: a create that is made for longer or shorter than its ttl", async () => {
    const { books, judge, post, labels, create } = open();
    judge.asks(create());
    await post("a", labels(NOW + 20 * MINUTE));
    expect(books.broken).toEqual([expect.stringMatching(/^I4: a create at the provider tells an end of tok.ann\/a/)]);
  });

  it("I4: a label that lets a machine live ten times as long as it may", async () => {
    const { books, judge, post, labels, create } = open();
    judge.asks(create());
    await post("a", labels(NOW + 10 * MINUTE, { [LABEL.max]: String((NOW + 10 * rules.maxAge) / 1000) }));
    expect(books.broken).toEqual([expect.stringMatching(/may live until/)]);
  });

  it("I5: a machine of a name that nobody asked for", async () => {
    const { books, judge, post, labels, create } = open();
    judge.asks(create());
    await post("b", labels(NOW + 10 * MINUTE, { [LABEL.name]: "b" }));
    expect(books.broken).toEqual([expect.stringMatching(/tok.ann\/b that nobody asked for/)]);
  });

  it("I4: an answer with another end, or another latest end, than was asked for", async () => {
    const wrong = open();
    await wrong.lend();
    wrong.judge.asks(wrong.create())(wrong.answer(UID, NOW + 20 * MINUTE));
    expect(wrong.books.broken).toEqual([expect.stringMatching(/^I4: an answer to create tells an end/)]);
    const long = open();
    await long.lend();
    long.judge.asks({ do: "read" })(long.answer(UID, NOW + 10 * MINUTE, { max: NOW + 2 * rules.maxAge }));
    expect(long.books.broken).toEqual([expect.stringMatching(/may live until/)]);
  });

  it("I3: a repeat that is answered with another id", async () => {
    const { books, judge, create, answer, lend, clock } = open();
    await lend();
    clock.now += MINUTE;
    judge.asks(create())(answer(OTHER, clock.now + 10 * MINUTE));
    expect(books.broken[0]).toMatch(/may live until|^I3: a create of tok.ann\/a was answered/);
    expect(books.broken.at(-1)).toMatch(/^I3: a create of tok.ann\/a was answered 200 with/);
  });

  it("I5: an answer, or a label, that gives a machine to somebody else", async () => {
    const { books, judge, lend, told, call, labels } = open();
    const id = await lend();
    const machine = { ...told(UID, NOW + 10 * MINUTE), owner: "tok.bob" };
    judge.asks({ do: "read" })({ status: 200, text: JSON.stringify({ machines: [machine] }) });
    await call("PUT", `/servers/${id}`, { labels: labels(NOW + 10 * MINUTE, { [LABEL.owner]: "tok.bob" }) });
    expect(books.broken).toEqual([
      expect.stringMatching(/^I5: .* as tok.bob\/a/),
      expect.stringMatching(/^I5: .*owner/),
    ]);
  });

  it("I4: a renewal counts from its call, whatever its answer says; one whose answer is lost may have done either", async () => {
    const { books, judge, answer, lend, clock, leases } = open();
    await lend();
    clock.now += 5 * MINUTE;
    const renew: Ask = { do: "renew", ...ANN, ttl: 20 * MINUTE };
    judge.asks(renew)(undefined);
    const ends = leases.of(UID)?.ends.map(({ span }) => span().from - NOW);
    expect(ends).toEqual([10 * MINUTE, 25 * MINUTE + 100]);
    judge.asks(renew)(answer(UID, clock.now + 40 * MINUTE));
    expect(books.broken).toEqual([expect.stringMatching(/^I4: an answer to renew tells an end/)]);
  });

  it("I4: a machine that is kept for another time than it was asked for with", async () => {
    const { books, judge, told, lend, clock } = open();
    await lend(20 * MINUTE);
    const failed: Ask = { do: "destroy", ...ANN, isFailed: true };
    const kept = (end: number) => ({
      status: 200,
      text: JSON.stringify({ machine: told(UID, end), kept_until: new Date(end).toISOString() }),
    });
    judge.asks(failed)(kept(clock.now + 20 * MINUTE));
    expect(books.broken).toEqual([]);
    judge.asks(failed)(kept(clock.now + 1200));
    expect(books.broken.length).toBeGreaterThan(0);
  });

  it("I1: a destroy that says there is none, while the machine is there and known", async () => {
    const { books, judge, lend } = open();
    await lend();
    judge.asks({ do: "destroy", ...ANN, isFailed: false })({ status: 204, text: "" });
    expect(books.broken).toEqual([
      expect.stringMatching(/^I1: a destroy of tok.ann\/a was answered that there is none/),
    ]);
  });
});

describe("what mayfly sends is watched", () => {
  it("I2: a call about a foreign server", async () => {
    const { books, provider, call } = open();
    const { id } = provider.simulator.addServer({ name: "stranger" });
    await call("PUT", `/servers/${id}`, { labels: {} });
    await call("DELETE", `/servers/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I2: PUT/), expect.stringMatching(/^I2: DELETE/)]);
  });

  it("I2: a destroy of a server that the same life of the Worker has not read", async () => {
    const { books, call, lend, clock, reads } = open();
    const id = await lend();
    clock.now += 11 * MINUTE;
    reads.clear();
    await call("DELETE", `/servers/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I2: DELETE .* which was not read before/)]);
  });

  it("I4: a destroy before the end, and not one at it", async () => {
    const early = open();
    const id = await early.lend();
    early.clock.now += 9 * MINUTE;
    await early.call("GET", `/servers/${id}`);
    await early.call("DELETE", `/servers/${id}`);
    expect(early.books.broken).toEqual([expect.stringMatching(/^I4: DELETE/)]);
    const late = open();
    await late.lend();
    late.clock.now += 10 * MINUTE;
    await late.call("GET", `/servers/${id}`);
    await late.call("DELETE", `/servers/${id}`);
    expect([late.books.broken, late.books.died]).toEqual([[], 1]);
  });

  it("I4: an owner's word ends its machine, until its name begins anew", async () => {
    const { books, judge, call, create, answer, lend } = open();
    const id = await lend();
    judge.asks({ do: "destroy", ...ANN, isFailed: false })(undefined);
    judge.asks(create())(answer(UID, NOW + 10 * MINUTE));
    await call("GET", `/servers/${id}`);
    await call("DELETE", `/servers/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I4: DELETE/)]);
    const asked = open();
    await asked.lend();
    asked.judge.asks({ do: "destroy", ...ANN, isFailed: false })(undefined);
    await asked.call("GET", `/servers/${id}`);
    await asked.call("DELETE", `/servers/${id}`);
    expect(asked.books.broken).toEqual([]);
  });

  it("I4: what could not be put on one machine excuses that one alone", async () => {
    const { books, call, lend, clock } = open();
    const id = await lend();
    books.unfinished.set(id + 1, []);
    clock.now += 3 * MINUTE;
    await call("GET", `/servers/${id}`);
    await call("DELETE", `/servers/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I4: DELETE/)]);
  });

  it("I3: a second server of one owner and name", async () => {
    const { books, labels, post, lend } = open();
    await lend();
    await post("b", labels(NOW + 10 * MINUTE));
    expect(books.broken).toEqual([expect.stringMatching(/^I3: two servers/)]);
  });

  it("I1: a server of ours that it takes our labels off, and would then forget", async () => {
    const { books, labels, call, lend } = open();
    const id = await lend();
    await call("PUT", `/servers/${id}`, { labels: { [LABEL.expires]: labels(NOW)[LABEL.max] } });
    expect(books.broken).toEqual([expect.stringMatching(/^I1: PUT/)]);
  });

  it("I4: a label that is moved to an end that nobody asked for", async () => {
    const { books, labels, call, lend } = open();
    const id = await lend();
    await call("PUT", `/servers/${id}`, { labels: labels(NOW + 3 * HOUR) });
    expect(books.broken).toEqual([expect.stringMatching(/^I4: a label of tok.ann\/a/)]);
  });

  it("I2: a foreign server that is not what it was at the end", async () => {
    const { provider, lend } = open();
    const id = await lend();
    const people = openPeople(provider, env.INSTALLATION);
    people.makeByHand();
    await people.edit(0, "bare", NOW);
    expect(people.changed()).toEqual([]);
    await provider.byHand("PUT", `/servers/${id}`, { name: "renamed" });
    expect(people.changed()).toEqual([id]);
  });

  it("I7: a secret in an answer, in the log, or in what is sent to D1", () => {
    const { books } = open();
    const secrets = openSecrets(books, () => ["mayfly_canary"]);
    secrets.answered({ status: 200, text: "mayfly_canary" }, "a call");
    secrets.stated([{ text: "UPDATE tokens SET secret = ?", params: [1, "x mayfly_canary"] }]);
    secrets.stated([{ text: "UPDATE tokens SET secret = ?", params: [1, "a hash"] }]);
    expect(books.broken).toEqual([
      "I7: the answer to a call tells mayfly_canary",
      "I7: D1 (UPDATE tokens SET secret = ?) tells mayfly_canary",
    ]);
  });
});

describe("what is left after a tick is counted", () => {
  async function after(
    minutes: number,
    {
      quality = "good",
      ticks = 2,
      prepare,
    }: { quality?: Quality; ticks?: number; prepare?: (world: ReturnType<typeof open>) => void } = {},
  ) {
    const world = open();
    await world.lend();
    prepare?.(world);
    const { books, leases, servers } = world;
    const afterTick = createLate({ books, leases, rules });
    for (let tick = 0; tick < ticks; tick++) afterTick(servers(), NOW + (minutes + tick) * MINUTE + 2000, quality);
    return {
      broken: books.broken.map((what) => what.slice(0, 2)),
      late: [...books.met].filter(([what]) => what.startsWith("late")),
    };
  }

  it("I1: from the end that was asked for on, two good ticks are one too many", async () => {
    expect((await after(10, { ticks: 1 })).broken).toEqual([]);
    expect((await after(10)).broken).toEqual(["I1"]);
    expect((await after(8)).broken).toEqual([]);
    expect((await after(10, { quality: "bad" })).broken).toEqual([]);
  });

  it("I1: a word that was answered ends at once", async () => {
    const prepare = ({ judge }: ReturnType<typeof open>) =>
      judge.asks({ do: "destroy", ...ANN, isFailed: false })({ status: 202, text: "{}" });
    expect((await after(1, { prepare })).broken).toEqual(["I1"]);
  });

  it("I1: a failure of its own excuses a machine for as long as it backs off, one of another's does not", async () => {
    const [id, other] = [1, 2].map((number) => 100 + number);
    const hit = (which: number | undefined) => ({
      prepare: ({ books, servers }: ReturnType<typeof open>) =>
        void books.hits.set(which === id ? (servers()[0]?.id ?? 0) : Number(which), 1),
    });
    expect(await after(10, hit(id))).toEqual({ broken: [], late: [["late its own call failed", 2]] });
    expect((await after(10, hit(other))).broken).toEqual(["I1"]);
    expect((await after(10, { ...hit(id), ticks: 6 })).broken).toEqual(["I1"]);
  });

  it("I8: one that others' failures held up is one too many at once", async () => {
    const prepare = ({ books }: ReturnType<typeof open>) => void books.hit.add(999);
    expect((await after(10, { prepare, ticks: 1 })).broken).toEqual(["I8"]);
    expect((await after(10, { quality: "apart", ticks: 1 })).broken).toEqual(["I8"]);
  });

  it("I1: while D1 answers nothing, from an hour past its label's end on", async () => {
    expect((await after(69, { quality: "blind", ticks: 1 })).broken).toEqual([]);
    expect((await after(71, { quality: "blind" })).broken).toEqual(["I1"]);
  });
});

describe("I5: after two quiet passes each machine has a row of its own", () => {
  const row: LiveRow = {
    uid: UID,
    label_uid: UID,
    ...ANN,
    phase: "active",
    expires_at: NOW + 10 * MINUTE,
    next_try_at: null,
  };
  async function after(minutes: number, known: Partial<LiveRow> | null, bad = -1) {
    const { books, leases, lend, servers } = open();
    await lend();
    const afterTick = createOwned(books, leases, () => false);
    const rows = new Map(known === null ? [] : [[UID, { ...row, ...known }]]);
    for (let minute = 0; minute <= minutes; minute++)
      afterTick(servers(), rows, NOW + minute * MINUTE, minute === bad ? "bad" : "good");
    return books.broken;
  }

  it("and none before, or after a bad tick", async () => {
    expect(await after(30, null)).toEqual([]);
    expect(await after(32, null)).toEqual([expect.stringMatching(/^I5: .* has no row/)]);
    expect(await after(32, null, 10)).toEqual([]);
    expect(await after(32, {})).toEqual([]);
  });

  it("of its owner, its name and its lease", async () => {
    expect(await after(32, { owner: "tok.bob" })).toEqual([expect.stringMatching(/is tok.bob\/a/)]);
    expect(await after(32, { name: "b" })).toEqual([expect.stringMatching(/is tok.ann\/b/)]);
    expect(await after(32, { expires_at: NOW + HOUR })).toEqual([expect.stringMatching(/nobody asked for/)]);
  });
});

describe("I9: health is held against the truth", () => {
  async function after(
    minutes: number,
    { status, sweptAt, isProtected = false }: { status: number; sweptAt: number; isProtected?: boolean },
  ) {
    const { books, leases, lend, servers, provider } = open();
    const id = await lend();
    if (isProtected)
      await provider.byHand("POST", `/servers/${id}/actions/change_protection`, { delete: true, rebuild: true });
    else servers().splice(0);
    const health = createHealth(
      {
        books,
        leases,
        rules,
        sweptAt: () => sweptAt,
        ask: async () => ({ status, text: "" }),
        servers: () => (isProtected ? servers() : []),
      },
      NOW,
    );
    for (let minute = 0; minute <= minutes; minute++) health.tick(NOW + minute * MINUTE, "good");
    await health.check(NOW + minutes * MINUTE);
    return books.broken;
  }

  it("is red after three intervals of silence, and while something is held for long; else green", async () => {
    const end = NOW + 80 * MINUTE;
    expect(await after(80, { status: 200, sweptAt: end })).toEqual([]);
    expect(await after(80, { status: 503, sweptAt: end })).toEqual([
      expect.stringMatching(/^I9: health is 503, not 200/),
    ]);
    expect(await after(80, { status: 200, sweptAt: end - 4 * MINUTE })).toEqual([expect.stringMatching(/not 503/)]);
    expect(await after(80, { status: 200, sweptAt: end, isProtected: true })).toEqual([
      expect.stringMatching(/not 503/),
    ]);
    expect(await after(40, { status: 200, sweptAt: NOW + 40 * MINUTE, isProtected: true })).toEqual([]);
  });
});
