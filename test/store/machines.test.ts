import { expect, describe, it } from "vitest";
import { machineOf } from "../machine/fixtures.ts";
import { HOUR, MINUTE, NOW } from "../mayfly.ts";
import { anyTry, everything, machineRowOf, putMachine, store } from "./tables.ts";

const END = NOW + HOUR;
const NEW = machineRowOf({ uid: "new", name: "box" });
const insert = (uid: string) => store.machines.insert({ ...NEW, uid }, NOW);
const rowOfUid = async (uid: string) => (await store.machines.byUid(uid)) ?? expect.fail(`there is no row ${uid}`);
const eventsOf = async () => (await everything())["events"]?.map(({ uid, event, reason }) => [uid, event, reason]);

describe("a name", () => {
  it("is held once, whoever comes second, and is free again when its machine has ended", async () => {
    expect([await insert("a"), await insert("b")]).toEqual([true, false]);
    await store.endings.fail([{ uid: "a", reason: "capacity" }], NOW);
    expect(await insert("b")).toBe(true);
    expect(await eventsOf()).toEqual([
      ["a", "requested", null],
      ["a", "failed", "capacity"],
      ["b", "requested", null],
    ]);
  });

  it("that its owner forbade is not held before that is over", async () => {
    await store.tombstones.set(NEW.owner, NEW.name, NOW + 1, NOW);
    expect(await insert("a")).toBe(false);
    expect(await store.machines.insert({ ...NEW, requestedAt: NOW + 1 }, END)).toBe(true);
  });

  it("is not given to a machine by a label where another live one has it", async () => {
    await insert("a");
    await putMachine();
    expect(await store.machines.rename("active", "box")).toBe(false);
    expect((await rowOfUid("active")).name).toBe("active");
  });
});

describe("the one right to try", () => {
  it("is one caller's, until it runs out", async () => {
    await putMachine({ phase: "requested", nextTryAt: NOW });
    const won: boolean[] = [];
    for (const now of [NOW, NOW, END - 1, END]) won.push(await store.work.claimTry("active", anyTry(now, END)));
    expect(won).toEqual([true, false, false, true]);
  });

  it("to look is one caller's too", async () => {
    await putMachine();
    const looks = await Promise.all([1, 2].map(() => store.work.claimLook(["active"], NOW, NOW - 1)));
    expect(looks.flat()).toHaveLength(1);
  });

  it("over a row that has ended is nobody's", async () => {
    await putMachine({ phase: "failed" });
    expect(await store.work.claimTry("active", anyTry(NOW, END))).toBe(false);
  });
});

describe("what is seen", () => {
  const see = (change: object = {}) => store.machines.observe([{ uid: "active", machine: machineOf(change) }], NOW);

  it.each(["destroying", "destroyed", "failed", "disowned"] as const)("never revives a %s row", async (phase) => {
    await putMachine({ phase, status: "destroyed" });
    const before = await everything();
    expect(await see()).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  it("at another id than the row's is another machine", async () => {
    await putMachine({ providerId: "1" });
    expect(await see({ providerId: "2" })).toEqual([]);
    expect((await rowOfUid("active")).providerId).toBe("1");
  });

  it("is told once as created, and a machine that is off before it ever ran is still being created", async () => {
    await putMachine({ phase: "requested", status: "creating" });
    expect(await see({ status: "stopped" })).toMatchObject([{ phase: "active", status: "creating" }]);
    expect(await see()).toMatchObject([{ status: "running" }]);
    expect(await eventsOf()).toEqual([["active", "created", null]]);
  });

  it("confirms what a machine was made with only where it is said to be complete", async () => {
    const attachments = { firewallIds: ["1"], networkIds: [] };
    await putMachine({ attachments });
    expect(await see()).toMatchObject([{ attachments }]);
    const complete = { uid: "active", machine: machineOf(), isComplete: true };
    expect(await store.machines.observe([complete], NOW)).toMatchObject([{ attachments: null }]);
  });
});

describe("a machine that was found without a row", () => {
  const orphan = { ...machineRowOf({ uid: "found", name: "box" }), machine: machineOf({ providerId: "9" }) };

  it("gives way in its name where another live one has it, and is told of once", async () => {
    await insert("a");
    expect(await store.inventory.adoptOrphans([orphan], NOW)).toEqual(new Set(["found"]));
    expect(await store.inventory.adoptOrphans([orphan], NOW)).toEqual(new Set());
    expect(await rowOfUid("found")).toMatchObject({ name: "found", phase: "active", expiresAt: END });
    expect((await eventsOf())?.filter(([uid]) => uid === "found")).toEqual([["found", "adopted", null]]);
  });

  it("under a name that its owner forbade is to go", async () => {
    await store.tombstones.set(orphan.owner, "box", END, NOW);
    await store.inventory.adoptOrphans([orphan], NOW);
    expect(await rowOfUid("found")).toMatchObject({ phase: "destroying", expiresAt: NOW, destroyRequestedAt: NOW });
  });

  it("changes no row that has its uid, dead or alive", async () => {
    await putMachine({ uid: "found", phase: "destroyed" });
    expect(await store.inventory.adoptOrphans([orphan], NOW)).toEqual(new Set());
    expect((await rowOfUid("found")).phase).toBe("destroyed");
  });
});

describe("a try that is put off", () => {
  const aTry = { uid: "active", expiresAt: END, error: "no", nextTryAt: NOW + MINUTE };
  const nothing = { failed: false, missing: false, mismatched: false };

  it("is counted and dated by what was seen, and a date that is there stays", async () => {
    await putMachine();
    await store.work.postpone([{ ...aTry, ...nothing, failed: true, missing: true }], NOW);
    await store.work.postpone([{ ...aTry, ...nothing, missing: true, mismatched: true }], NOW + 1);
    expect(await rowOfUid("active")).toMatchObject({
      attempts: 1,
      lastError: "no",
      nextTryAt: NOW + MINUTE,
      missingSince: NOW,
      mismatchedSince: NOW + 1,
    });
    expect((await everything())["machines"]).toMatchObject([{ looked_at: NOW + 1 }]);
  });

  it("does not put off an end that was moved meanwhile, by a renewal or by its owner's word", async () => {
    await putMachine();
    await putMachine({ uid: "given-up" });
    await store.leases.renew({ uid: "active", now: NOW, to: END + HOUR, months: [] });
    await store.endings.requestDestroy("given-up", NOW);
    const before = await everything();
    const missed = { ...aTry, ...nothing, failed: true, missing: true };
    await store.work.postpone([missed, { ...missed, uid: "given-up" }], NOW);
    expect(await everything()).toEqual(before);
  });

  it("of a row that has ended changes nothing", async () => {
    await putMachine({ phase: "destroyed" });
    const before = await everything();
    await store.work.postpone([{ ...aTry, ...nothing, failed: true }], NOW);
    expect(await everything()).toEqual(before);
  });
});
