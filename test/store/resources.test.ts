import { expect, describe, it } from "vitest";
import { HOUR, MINUTE, NOW } from "../mayfly.ts";
import { everything, put, putMachine, putResource, resourceRowOf, store } from "./tables.ts";

const { resources } = store;
const END = NOW + HOUR;
const claim = (now = NOW) => resources.claimDelete([resourceRowOf()], now);
const use = () => resources.use("active", ["firewall"]);
const KEY = { kind: "ssh_key", publicKey: "ssh-ed25519 AAAA" } as const;

describe("of a use and a deletion", () => {
  it("the use wins that came first, until its machine has ended", async () => {
    await putMachine();
    await putResource();
    expect(await use()).toBe(1);
    expect(await claim()).toEqual([]);
    await store.endings.close([{ uid: "active", phase: "destroyed", reason: "gone" }], NOW);
    expect(await claim()).toMatchObject([{ row: { phase: "deleting" }, isShared: false }]);
  });

  it("the deletion wins that came first", async () => {
    await putMachine();
    await putResource();
    expect(await claim()).toHaveLength(1);
    expect(await use()).toBe(0);
    expect(await resources.users(["firewall"])).toEqual(new Map([["firewall", []]]));
  });

  it("exactly one wins where they race", async () => {
    await putMachine();
    await putResource();
    const [claimed, used] = await Promise.all([claim(), use()]);
    expect(claimed.length + used).toBe(1);
  });
});

describe("what a machine used", () => {
  it("goes no sooner than in the tick after the one in which the machine ended", async () => {
    await putMachine();
    await putResource();
    await use();
    await store.endings.close([{ uid: "active", phase: "destroyed", reason: "expired" }], NOW);
    expect(await resources.ended(NOW, 9)).toEqual([]);
    expect(await resources.ended(NOW + MINUTE, 9)).toMatchObject([
      { uid: "firewall", kind: "firewall", idleSince: null },
    ]);
  });

  it("is forgotten once the machine has ended, unless it may come back", async () => {
    await putResource();
    const ended = { phase: "destroyed", status: "destroyed", destroyedAt: NOW } as const;
    await putMachine();
    await putMachine({ uid: "expired", reason: "expired", ...ended });
    await putMachine({ uid: "failed", reason: "capacity", ...ended, phase: "failed" });
    await putMachine({ uid: "lost", reason: "lost", ...ended });
    await putMachine({ uid: "just-now", reason: "expired", ...ended, destroyedAt: NOW + MINUTE });
    for (const machineUid of ["active", "expired", "failed", "lost", "just-now", "unknown"])
      await put("resource_uses", { resourceUid: "firewall", machineUid });
    await resources.forgetUses(NOW + MINUTE);
    const left = (await everything())["resource_uses"]?.map(({ machine_uid }) => machine_uid);
    expect(left?.toSorted()).toEqual(["active", "just-now", "lost", "unknown"]);
  });
});

describe("a resource", () => {
  it("is not deleted before its own lease has ended", async () => {
    await putResource({ expiresAt: END });
    expect(await claim()).toEqual([]);
    expect(await claim(END)).toHaveLength(1);
  });

  it("is not used or renewed once its owner has ended it", async () => {
    await putMachine();
    await putResource({ expiresAt: END });
    await resources.requestDelete(["firewall"], NOW);
    expect([await use(), await resources.renew("firewall", END)]).toEqual([0, null]);
  });

  it("that has ended stays ended, with the reason that was first", async () => {
    await putResource({ providerId: "1", reason: "requested" });
    await resources.close([{ uid: "firewall", reason: "gone" }], NOW);
    await resources.close([{ uid: "firewall", reason: "gone" }], END);
    expect(await resources.byUid("firewall")).toMatchObject({ phase: "deleted", reason: "requested", deletedAt: NOW });
    expect(await claim()).toEqual([]);
    const late = {
      id: "1",
      labels: {},
      hasLabels: true,
      createdAt: NOW,
      machineIds: [],
      material: null,
      selectors: [],
    };
    expect(await resources.made("firewall", late)).toBeNull();
  });

  it("holds its name once", async () => {
    const insert = (uid: string) => resources.insert(resourceRowOf({ uid, name: "box" }), NOW, null, null);
    expect([await insert("a"), await insert("b")]).toEqual([true, false]);
  });

  it("is tried by one caller at a time", async () => {
    await putResource({ phase: "requested" });
    const won: boolean[] = [];
    for (const now of [NOW, NOW, END]) won.push(await resources.claimTry("firewall", now, END, null));
    expect(won).toEqual([true, false, true]);
  });
});

describe("a key", () => {
  it("of several rows is deleted by the last of them alone", async () => {
    const mine = resourceRowOf({ uid: "mine", spec: KEY });
    const his = resourceRowOf({ uid: "his", spec: KEY });
    await putResource(mine);
    await putResource({ ...his, expiresAt: END });
    expect(await resources.claimDelete([mine], NOW)).toMatchObject([{ isShared: true }]);
    expect(await resources.claimDelete([his], END)).toMatchObject([{ isShared: false }]);
  });

  it("of several that end together is deleted once, by the last", async () => {
    const both = ["mine", "his"].map((uid) => resourceRowOf({ uid, spec: KEY }));
    for (const row of both) await putResource(row);
    expect(await resources.claimDelete(both, NOW)).toMatchObject([
      { row: { uid: "mine" }, isShared: true },
      { row: { uid: "his" }, isShared: false },
    ]);
  });

  it("whose bytes are just being deleted cannot be wanted again yet", async () => {
    await putResource({ uid: "going", phase: "deleting", spec: KEY });
    expect(await resources.insert(resourceRowOf({ uid: "new", spec: KEY }), NOW, null, null)).toBe(false);
    await resources.close([{ uid: "going", reason: "gone" }], NOW);
    expect(await resources.insert(resourceRowOf({ uid: "new", spec: KEY }), NOW, null, null)).toBe(true);
  });
});
