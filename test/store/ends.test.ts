import { expect, describe, it } from "vitest";
import type { RowReason } from "../../src/machine/reason.ts";
import { machineOf } from "../machine/fixtures.ts";
import { HOUR, NOW } from "../mayfly.ts";
import { everything, putMachine, store } from "./tables.ts";

const END = NOW + HOUR;
const rowOfUid = async (uid: string) => (await store.machines.byUid(uid)) ?? expect.fail(`there is no row ${uid}`);
const eventsOf = async () => (await everything())["events"]?.map(({ uid, event, reason }) => [uid, event, reason]);
const claim = (more: object = {}) =>
  store.endings.claimDestroy([{ uid: "active", reason: "expired", expiresAt: END, ...more }], NOW);
const renew = (until = END + HOUR) => store.leases.renew({ uid: "active", now: NOW, to: until, months: [] });

describe("of a renewal and a claim", () => {
  it("the renewal wins that came first", async () => {
    await putMachine();
    expect(await renew()).toMatchObject({ expiresAt: END + HOUR });
    expect(await claim()).toEqual(new Set());
    expect((await rowOfUid("active")).phase).toBe("active");
  });

  it("the claim wins that came first, and ends the lease", async () => {
    await putMachine();
    expect(await claim()).toEqual(new Set(["active"]));
    expect(await renew()).toBeNull();
    expect(await rowOfUid("active")).toMatchObject({ phase: "destroying", expiresAt: NOW, reason: "expired" });
  });

  it("exactly one wins where they race", async () => {
    await putMachine();
    const [won, renewed] = await Promise.all([claim(), renew()]);
    expect([won.size > 0, renewed !== null].filter(Boolean)).toHaveLength(1);
  });

  it("the claim loses that was made over a lack which is no more", async () => {
    const lacking = { firewallIds: ["1"], networkIds: [] };
    await putMachine({ attachments: null });
    expect(await claim({ lacking })).toEqual(new Set());
    await putMachine({ uid: "other", attachments: lacking });
    expect(await claim({ uid: "other", lacking })).toEqual(new Set(["other"]));
  });
});

describe("a lease", () => {
  it.each([
    ["earlier than it is", { until: END - 1 }, {}],
    ["past max_until", { until: END + 1 }, { maxUntil: END }],
    ["once it has ended", { until: END + HOUR }, { expiresAt: NOW }],
    ["once its owner has ended it", { until: END + HOUR }, { destroyRequestedAt: NOW }],
  ])("is not moved %s", async (_when, { until }, change) => {
    await putMachine(change);
    const before = await everything();
    expect(await renew(until)).toBeNull();
    expect(await everything()).toEqual(before);
  });

  it("is moved by a label only from the end that was read, and within max_until", async () => {
    await putMachine({ maxUntil: END + HOUR });
    await store.leases.learnEnds([{ uid: "active", from: END - 1, to: END + 1 }]);
    await store.leases.learnEnds([{ uid: "active", from: END, to: END + HOUR + 1 }]);
    expect((await rowOfUid("active")).expiresAt).toBe(END);
    await store.leases.learnEnds([{ uid: "active", from: END, to: END + HOUR }]);
    expect(await rowOfUid("active")).toMatchObject({ expiresAt: END + HOUR, labelExpiresAt: END + HOUR });
  });
});

describe("an end", () => {
  const close = (phase: "destroyed" | "failed" | "disowned", reason: RowReason, now = NOW) =>
    store.endings.close([{ uid: "active", phase, reason }], now);

  it("keeps the reason that was first, in the row and in what is told", async () => {
    await putMachine();
    await claim();
    await close("destroyed", "gone");
    expect(await rowOfUid("active")).toMatchObject({ phase: "destroyed", status: "destroyed", reason: "expired" });
    expect(await eventsOf()).toEqual([["active", "destroyed", "expired"]]);
  });

  it.each(["destroyed", "failed", "disowned"] as const)("that is there stays: nothing ends a %s row", async (phase) => {
    await putMachine({ phase, status: "destroyed", reason: "expired" });
    const before = await everything();
    for (const next of ["destroyed", "failed", "disowned"] as const) await close(next, "gone");
    await store.endings.fail([{ uid: "active", reason: "gone" }], NOW);
    await claim();
    expect(await store.endings.requestDestroy("active", NOW)).toBeNull();
    expect(await everything()).toEqual(before);
  });

  it("of several kinds is one batch, and each is told as what it is", async () => {
    await putMachine({ uid: "a" });
    await putMachine({ uid: "b", phase: "requested" });
    await putMachine({ uid: "c" });
    await store.endings.close(
      [
        { uid: "a", phase: "destroyed", reason: "gone" },
        { uid: "b", phase: "failed", reason: "launch_failed" },
        { uid: "c", phase: "disowned", reason: "identity_mismatch" },
      ],
      NOW,
    );
    const rows = await Promise.all(["a", "b", "c"].map(rowOfUid));
    expect(rows.map(({ phase, status }) => [phase, status])).toEqual([
      ["destroyed", "destroyed"],
      ["failed", "destroyed"],
      ["disowned", "unknown"],
    ]);
    expect((await eventsOf())?.toSorted()).toEqual([
      ["a", "destroyed", "gone"],
      ["b", "failed", "launch_failed"],
      ["c", "disowned", "identity_mismatch"],
    ]);
  });

  it("as failed is nobody's who only looked while another tries, or once it was seen", async () => {
    await putMachine({ phase: "requested", nextTryAt: NOW + 1 });
    await close("failed", "launch_failed");
    expect((await rowOfUid("active")).phase).toBe("requested");
    await close("failed", "launch_failed", NOW + 1);
    expect((await rowOfUid("active")).phase).toBe("failed");
    await putMachine({ uid: "seen" });
    await store.endings.close([{ uid: "seen", phase: "failed", reason: "launch_failed" }], NOW);
    expect((await rowOfUid("seen")).phase).toBe("active");
  });

  it("as failed is whoever's who tried, while the try is still his", async () => {
    await putMachine({ phase: "requested", nextTryAt: END });
    await store.endings.fail([{ uid: "active", reason: "capacity" }], NOW);
    expect(await rowOfUid("active")).toMatchObject({ phase: "failed", reason: "capacity" });
  });

  it("on its owner's word stands, whatever is claimed or decided later", async () => {
    await putMachine();
    await store.endings.requestDestroy("active", NOW);
    await claim({ expiresAt: NOW });
    await close("destroyed", "gone");
    expect(await rowOfUid("active")).toMatchObject({ reason: "requested", destroyRequestedAt: NOW, expiresAt: NOW });
    expect((await eventsOf())?.map(([, event]) => event)).toEqual(["destroy_requested", "destroyed"]);
  });

  it("is taken back for a tombstone whose machine lives, unless its name is another's by now", async () => {
    await putMachine({ phase: "failed", destroyedAt: NOW });
    await putMachine({ uid: "late", name: "box", phase: "failed", destroyedAt: NOW });
    await putMachine({ uid: "holder", name: "box" });
    await store.endings.reopen([{ uid: "active", machine: machineOf({ providerId: "1" }) }], NOW);
    await store.endings.reopen([{ uid: "late", machine: machineOf({ providerId: "2" }) }], NOW);
    expect(await rowOfUid("active")).toMatchObject({ phase: "destroying", providerId: "1", destroyedAt: null });
    expect(await rowOfUid("late")).toMatchObject({ phase: "failed", providerId: null });
  });
});
