import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import { openBooks, type Books } from "./books.ts";
import { createOverstay, type LiveRow } from "./overstay.ts";
import { openPeople } from "../world/people.ts";
import { openProvider } from "../world/provider.ts";
import { MAX_AGE, MINUTE, NOW, RECOVERY } from "../world/settings.ts";

const UID = "00000000-0000-4000-8000-000000000001";

/** A provider with one machine of ours, which was promised ten minutes. */
function open() {
  const clock = { now: NOW, skew: 0, ahead: 0 };
  const books = openBooks();
  const provider = openProvider(clock, books);
  const seconds = (ms: number) => String(ms / 1000);
  const labels = {
    [LABEL.managed]: "true",
    [LABEL.installation]: env.INSTALLATION,
    [LABEL.uid]: UID,
    [LABEL.owner]: "tok.ann",
    [LABEL.name]: "a",
    [LABEL.expires]: seconds(NOW + 10 * MINUTE),
    [LABEL.max]: seconds(NOW + MAX_AGE),
  };
  const { id } = provider.simulator.addServer({ name: "a", created: new Date(NOW).toISOString(), labels });
  books.born.set(id, NOW);
  const call = async (method: string, path: string, body?: unknown) => {
    const init = {
      method,
      headers: { Authorization: "Bearer t" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    await provider.call(new Request(`https://api.hetzner.cloud/v1${path}`, init), env.INSTALLATION);
  };
  return { clock, books, provider, labels, id, call };
}

describe("what mayfly sends is watched", () => {
  it("I2: a call about a foreign server", async () => {
    const { books, provider, call } = open();
    const { id } = provider.simulator.addServer({ name: "stranger" });
    await call("PUT", `/servers/${id}`, { labels: {} });
    await call("DELETE", `/servers/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I2: PUT/), expect.stringMatching(/^I2: DELETE/)]);
  });

  it("I4: a destroy before the end, which is the one that the owner was told", async () => {
    const { books, id, call, clock } = open();
    clock.now += 11 * MINUTE;
    books.told.set(UID, NOW + 12 * MINUTE);
    await call("DELETE", `/servers/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I4: DELETE/)]);
  });

  it("I4: not one at the end, nor one that was asked for", async () => {
    const late = open();
    late.clock.now += 10 * MINUTE;
    await late.call("DELETE", `/servers/${late.id}`);
    const asked = open();
    asked.books.asked.add(UID);
    await asked.call("DELETE", `/servers/${asked.id}`);
    expect([late.books.broken, asked.books.broken, late.books.died]).toEqual([[], [], 1]);
  });

  it("I3: a second server of one owner and name", async () => {
    const { books, labels, call } = open();
    await call("POST", "/servers", { name: "b", server_type: "cx23", image: "debian-13", labels });
    expect(books.broken).toEqual([expect.stringMatching(/^I3: two servers/)]);
  });

  it("I1: a server of ours that it takes our labels off, and would then forget", async () => {
    const { books, id, labels, call } = open();
    await call("PUT", `/servers/${id}`, { labels: { ...labels, [LABEL.expires]: labels[LABEL.max] } });
    expect(books.broken).toEqual([]);
    await call("PUT", `/servers/${id}`, { labels: { [LABEL.expires]: labels[LABEL.max] } });
    expect(books.broken).toEqual([expect.stringMatching(/^I1: PUT/)]);
  });

  it("I2: a foreign server that is not what it was at the end", async () => {
    const { provider, id } = open();
    const people = openPeople(provider, env.INSTALLATION);
    people.makeByHand();
    await people.edit(0, "bare", NOW);
    expect(people.changed()).toEqual([]);
    await provider.byHand("PUT", `/servers/${id}`, { name: "renamed" });
    expect(people.changed()).toEqual([id]);
  });
});

describe("I1: good ticks past the end are counted", () => {
  const row: LiveRow = {
    uid: UID,
    owner: "tok.ann",
    phase: "active",
    expires_at: NOW + 10 * MINUTE,
    label_expires_at: NOW + 10 * MINUTE,
    max_until: NOW + MAX_AGE,
    next_try_at: null,
    delete_accepted_at: null,
    missing_since: null,
    mismatched_since: null,
  };
  const after = (
    minutes: number,
    quality: "good" | "bad" | "blind",
    known: Partial<LiveRow> | null,
    ticks = 2,
    more: Partial<Books> = {},
  ) => {
    const { provider, books } = open();
    Object.assign(books, { struckAt: NOW }, more);
    const afterTick = createOverstay(books);
    const rows = new Map(known === null ? [] : [[UID, { ...row, ...known }]]);
    for (let tick = 0; tick < ticks; tick++)
      afterTick(provider.simulator.state().servers, rows, rows, NOW + minutes * MINUTE, quality);
    return books.broken.length;
  };
  const beyond = RECOVERY / MINUTE + 10;

  it("from the row's end on, two are one too many", () => {
    expect(after(10, "good", {}, 1)).toBe(0);
    expect(after(10, "good", {})).toBe(1);
    expect(after(9, "good", {})).toBe(0);
    expect(after(10, "bad", {})).toBe(0);
    expect(after(10, "good", { expires_at: NOW + 11 * MINUTE })).toBe(0);
  });

  it("not while an item is left alone for what went wrong, and then again", () => {
    const next_try_at = NOW + 100 * MINUTE;
    expect(after(10, "good", { next_try_at })).toBe(0);
    expect(after(beyond, "good", { next_try_at })).toBe(1);
  });

  it("I8: one that others' failures held up is one too many at once", () => {
    expect(after(10, "good", {}, 1, { hit: new Set([999]) })).toBe(1);
    expect(after(10, "good", { next_try_at: NOW }, 1, { hit: new Set([999]) })).toBe(0);
  });

  it("without a row, or where D1 refuses, from the greatest age on", () => {
    const oldest = MAX_AGE / MINUTE;
    expect(after(beyond, "good", null)).toBe(0);
    expect(after(oldest, "good", null)).toBe(0);
    expect(after(oldest + 1, "good", null)).toBe(1);
    expect(after(oldest, "blind", {})).toBe(0);
    expect(after(oldest + 1, "blind", {})).toBe(1);
  });
});
