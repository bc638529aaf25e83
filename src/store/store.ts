import { createCatalogueStore } from "./catalogues.ts";
import { createCooldownStore } from "./cooldowns.ts";
import { openSql } from "./db.ts";
import { createLockStore, whileFenced } from "./lock.ts";
import { createMachineEndings } from "./machine-endings.ts";
import { createMachineInventory } from "./machine-inventory.ts";
import { createMachineLeases } from "./machine-leases.ts";
import { createMachineStore } from "./machines.ts";
import { createMachineWork } from "./machine-work.ts";
import { createReapFailureStore } from "./reap-failures.ts";
import { createResourceStore } from "./resources.ts";
import { createSettingStore } from "./settings.ts";
import { createSweepStore } from "./sweeps.ts";
import { createTombstoneStore } from "./tombstones.ts";
import { createTokenStore } from "./tokens.ts";

export type Store = ReturnType<typeof openStore>;

/** How a store writes: as asked, or only while that fence holds, or not at all. */
export type StoreMode = { readonly fence?: number; readonly readOnly?: boolean };

/** All repositories over one D1 binding. `onStatements` is told how many statements go out. */
export function openStore(
  db: D1Database,
  onStatements: (count: number) => void,
  { fence, readOnly = false }: StoreMode = {},
) {
  const sql = openSql(db, onStatements, { readOnly });
  const guard = fence === undefined ? "" : whileFenced(fence);
  return {
    /** Rows of machines: how they come to be and are read. */
    machines: createMachineStore(sql),
    /** How their leases change. */
    leases: createMachineLeases(sql, guard),
    /** What of them is to be worked on, and who does it when. */
    work: createMachineWork(sql, guard),
    /** How they end. */
    endings: createMachineEndings(sql, guard, readOnly),
    /** Rows held against the provider's inventory. */
    inventory: createMachineInventory(sql, guard, readOnly),
    reapFailures: createReapFailureStore(sql, guard),
    resources: createResourceStore(sql, guard, readOnly),
    lock: createLockStore(sql),
    sweeps: createSweepStore(sql),
    tokens: createTokenStore(sql),
    tombstones: createTombstoneStore(sql),
    settings: createSettingStore(sql),
    cooldowns: createCooldownStore(sql),
    catalogues: createCatalogueStore(sql),
  };
}
