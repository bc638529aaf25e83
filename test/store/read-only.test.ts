import { describe, expect, it } from "vitest";
import { machineOf } from "../machine/fixtures.ts";
import { HOUR, NOW } from "../mayfly.ts";
import type { Store } from "../../src/store/store.ts";
import { countedStore, machineRowOf, putMachine, putResource, resourceRowOf, store } from "./tables.ts";

const END = NOW + HOUR;
const doomOf = (uid: string) => ({ uid, reason: "expired" as const, expiresAt: END });
const orphanOf = (uid: string) => ({ ...machineRowOf({ uid }), machine: machineOf({ providerId: uid }) });

/** Each of several that could be won, and some of which cannot. */
const CLAIMS: Record<string, (one: Store) => Promise<unknown>> = {
  claimDestroy: ({ endings }) => endings.claimDestroy(["live", "renewed", "dead", "none"].map(doomOf), NOW),
  adoptOrphans: ({ inventory }) => inventory.adoptOrphans(["live", "dead", "none"].map(orphanOf), NOW),
  claimDelete: async ({ resources }) => {
    const rows = ["idle", "used", "leased"].map((uid) => resourceRowOf({ uid }));
    return (await resources.claimDelete(rows, NOW)).map(({ row, isShared }) => [row.uid, isShared]);
  },
};
const WON: Record<string, unknown> = {
  claimDestroy: new Set(["live"]),
  adoptOrphans: new Set(["none"]),
  claimDelete: [["idle", false]],
};

describe("a store that writes nothing", () => {
  it.each(Object.entries(CLAIMS))("foretells what %s wins", async (name, claim) => {
    await putMachine({ uid: "live" });
    await putMachine({ uid: "renewed", expiresAt: END + HOUR });
    await putMachine({ uid: "dead", phase: "destroyed" });
    for (const uid of ["idle", "used"]) await putResource({ uid });
    await putResource({ uid: "leased", expiresAt: END });
    await store.resources.use("live", ["used"]);
    const dry = await claim(countedStore({ readOnly: true }).store);
    expect(dry).toEqual(WON[name]);
    expect(await claim(store)).toEqual(dry);
  });

  it("still reads, also in a batch that would have changed something", async () => {
    const { settings, machines } = countedStore({ readOnly: true }).store;
    await putMachine();
    await store.settings.claimInstallation("ours");
    expect(await settings.claimInstallation("another")).toBe("ours");
    expect((await machines.list({ owner: null, statuses: [], labels: [], page: 1, perPage: 9 })).total).toBe(1);
  });
});
