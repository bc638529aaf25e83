import { env } from "cloudflare:workers";
import { expect, describe, it } from "vitest";
import { MINUTE, NOW } from "../mayfly.ts";
import { everything, putMachine, store } from "./tables.ts";
import { openStore } from "../../src/store/store.ts";

const { lock } = store;
const acquire = async (now: number) => lock.acquire("me", now, now + MINUTE);
const fenceOf = async (now: number) => (await acquire(now))?.fence ?? expect.fail("the lock is held");

async function release(fence: number): Promise<void> {
  const memory = { ...(await lock.recall()), resourcesListedAt: NOW };
  await lock.release(fence, { now: NOW, error: null, goodByCron: true, reported: true, memory });
}

describe("the lock", () => {
  it("is one holder's until its time is over, and its number rises with each", async () => {
    const taken = await Promise.all([acquire(NOW), acquire(NOW)]);
    expect(taken.filter((held) => held !== null)).toHaveLength(1);
    const first = taken.find((held) => held !== null)?.fence ?? 0;
    expect(await acquire(NOW + MINUTE - 1)).toBeNull();
    expect(await fenceOf(NOW + MINUTE)).toBe(first + 1);
  });

  it("is free when it was released, and remembers what its holder learnt", async () => {
    await release(await fenceOf(NOW));
    expect(await acquire(NOW)).toMatchObject({ lastReportAt: NOW, memory: { resourcesListedAt: NOW } });
  });

  it("forgets a pass that an older version left off, and not what it left in doubt", async () => {
    const doubts = { inventory_untrusted: true, other_credential: false };
    const left = { pass: { startedAt: 1, side: "rows", after: "x" }, lastAt: 7, isFlawed: true, doubts };
    await env.DB.prepare("UPDATE locks SET reconcile = ?").bind(JSON.stringify(left)).run();
    expect((await lock.recall()).reconcile).toEqual({ pass: null, lastAt: 7, isFlawed: true, doubts });
  });

  it("that was lost is neither renewed nor released by who had it", async () => {
    const old = await fenceOf(NOW);
    const current = await fenceOf(NOW + MINUTE);
    const before = await everything();
    expect(await lock.renew(old, NOW + 9 * MINUTE)).toBe(false);
    await release(old);
    expect(await everything()).toEqual(before);
    expect(await lock.renew(current, NOW + 9 * MINUTE)).toBe(true);
    expect(await acquire(NOW + 8 * MINUTE)).toBeNull();
  });

  it("that was lost takes with it the events of a batch whose change was fenced", async () => {
    const sweep = openStore(env.DB, () => {}, { fence: await fenceOf(NOW) });
    await putMachine();
    await fenceOf(NOW + MINUTE);
    const before = await everything();
    await sweep.endings.close([{ uid: "active", phase: "destroyed", reason: "gone" }], NOW);
    expect(await everything()).toEqual(before);
  });

  it("is not taken, renewed or released by a store that writes nothing", async () => {
    const held = await fenceOf(NOW);
    const before = await everything();
    const dry = openStore(env.DB, () => {}, { readOnly: true }).lock;
    expect(await dry.acquire("dry", NOW + MINUTE, NOW + 2 * MINUTE)).toBeNull();
    expect(await dry.renew(held, NOW + 9 * MINUTE)).toBe(false);
    await dry.release(held, {
      now: NOW,
      error: null,
      goodByCron: true,
      reported: true,
      memory: await dry.recall(),
    });
    expect(await everything()).toEqual(before);
  });
});
