import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { lookAhead } from "../../src/reaper/outlook.ts";
import { openStore } from "../../src/store/store.ts";
import { createMayfly, MINUTE, minutes, NOW, refusing, servers } from "../mayfly.ts";
import { tripping } from "../trips.ts";
import { put } from "./lost-rows.ts";
import { putMachine } from "../store/tables.ts";

it("a tick that has nothing to do goes to the database three times, and asks the provider for one page", async () => {
  const mayfly = createMayfly();
  for (const name of ["a", "b"]) await put(mayfly, name, { firewalls: [{ deny_all: true }] });
  await minutes(mayfly, 3);
  const { db, trips } = tripping(env.DB);
  mayfly.configure({ DB: db });
  mayfly.advance(MINUTE);
  expect(await mayfly.tick()).toMatchObject({ fetches: 1, statements: 3 });
  expect(trips).toHaveLength(3);
});

describe("what a sweep knows of its work", () => {
  async function known() {
    const meter = { fetches: 0, statements: 0, entries: 0 };
    const store = openStore(env.DB, (count) => (meter.statements += count));
    return { store, known: await lookAhead(store, meter, NOW, 50) };
  }

  it("is what there was when it began", async () => {
    const empty = (await known()).known;
    expect(empty.due()).toEqual([]);
    expect((["unsettled", "ended", "pending"] as const).map((what) => empty.lacks(what))).toEqual([true, true, true]);
    await putMachine({ uid: "due", expiresAt: NOW });
    await putMachine({ uid: "going", phase: "destroying", deleteAcceptedAt: NOW - MINUTE });
    const full = (await known()).known;
    expect(full.due()?.map(({ uid }) => uid)).toEqual(["due"]);
    expect((["unsettled", "ended", "pending"] as const).map((what) => full.lacks(what))).toEqual([false, true, true]);
  });

  it("is forgotten as soon as anything else is asked of the database, be it a change or a look", async () => {
    for (const ask of [
      (store: ReturnType<typeof openStore>) => store.inventory.countLive(),
      (store: ReturnType<typeof openStore>) => store.machines.noteSeen(["any"], NOW),
    ]) {
      const { store, known: work } = await known();
      await ask(store);
      expect(work.due()).toBeNull();
      expect(work.lacks("unsettled")).toBe(false);
    }
  });

  it("is nothing where the database does not answer: each phase asks for itself, and fails for itself", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "60s" });
    mayfly.configure({ DB: refusing(env.DB, /FROM resources|AS unsettled/) });
    mayfly.advance(2 * MINUTE);
    const report = await mayfly.tick();
    expect(report?.phases.filter(({ failure }) => failure !== null).map(({ phase }) => phase)).toEqual(["orphans"]);
    expect(servers(mayfly)).toEqual([]);
  });
});
