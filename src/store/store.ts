import { openAhead } from "./ahead.ts";
import { createCatalogueStore } from "./catalogues.ts";
import { createCooldownStore } from "./cooldowns.ts";
import { countedSql, openSql } from "./db.ts";
import { createDeliveryStore, whilePending } from "./deliveries.ts";
import { createEventStore } from "./event-store.ts";
import { openDb, type Db, type Signature } from "./writer.ts";
import { createHistory } from "./history.ts";
import { createLedger } from "./ledger.ts";
import { createLockStore, whileFenced } from "./lock.ts";
import { createMachineEndings } from "./machine-endings.ts";
import { createMachineInventory } from "./machine-inventory.ts";
import { createMachineLeases } from "./machine-leases.ts";
import { createMachineLimits } from "./machine-limits.ts";
import { createMachineStore } from "./machines.ts";
import { createMachineWork } from "./machine-work.ts";
import { createOutlook } from "./outlook.ts";
import { createReadAhead } from "./read-ahead.ts";
import { createReapFailureStore } from "./reap-failures.ts";
import { createResourceStore } from "./resources.ts";
import { createSettingStore } from "./settings.ts";
import { createSweepStore } from "./sweeps.ts";
import { createTombstoneStore } from "./tombstones.ts";
import { createTokenStore } from "./tokens.ts";

export type Store = ReturnType<typeof openStore>;

/**
 * How a store writes: as asked, or only while that fence holds, only while that delivery is still to be carried out, or not at all; and
 * who signs the events of what it changes.
 */
export type StoreMode = {
  readonly fence?: number;
  readonly delivery?: string;
  readonly readOnly?: boolean;
  readonly signature?: Signature;
};

/**
 * All repositories over one D1 binding. `onStatements` is told how many statements go out. With a fence everything but the lock is
 * written under it; a sweep keeps its report by a store without one, since what it did is told though another has taken over. What
 * was read ahead through one store is there for all that share `ahead`, and is forgotten by what any of them writes.
 */
export function openStore(
  db: D1Database,
  onStatements: (count: number) => void,
  { fence, delivery, readOnly = false, signature }: StoreMode = {},
  ahead = openAhead(),
) {
  const sql = countedSql(openSql(db), onStatements);
  const conditions = [
    ...(fence === undefined ? [] : [whileFenced(fence)]),
    ...(delivery === undefined ? [] : [whilePending(delivery)]),
  ];
  const only = conditions.length === 0 ? undefined : conditions.join(" AND ");
  const guarded = openDb(sql, { only, readOnly, signature, ahead });
  return {
    ...repositoriesOf(guarded, openDb(sql, { readOnly, ahead })),
    /** How what will be asked for is read before. */
    ahead: createReadAhead(guarded, (recorded) => repositoriesOf(recorded, recorded)),
    room: {
      /** How much the database holds, in bytes. */
      bytes: (): Promise<number> => sql.bytes(),
    },
  };
}

/** What can be read ahead. */
export type Repositories = ReturnType<typeof repositoriesOf>;

function repositoriesOf(guarded: Db, unguarded: Db) {
  return {
    /** Rows of machines: how they come to be and are read. */
    machines: createMachineStore(guarded),
    /** How their leases change. */
    leases: createMachineLeases(guarded),
    /** What of them is to be worked on, and who does it when. */
    work: createMachineWork(guarded),
    /** What a sweep begins with. */
    outlook: createOutlook(guarded),
    /** What there may be of them at most. */
    limits: createMachineLimits(guarded),
    /** How they end. */
    endings: createMachineEndings(guarded),
    /** Rows held against the provider's inventory. */
    inventory: createMachineInventory(guarded),
    /** What machines were charged. */
    ledger: createLedger(guarded),
    /** How what is old is forgotten. */
    history: createHistory(guarded),
    reapFailures: createReapFailureStore(guarded),
    resources: createResourceStore(guarded),
    /** It is guarded by the number that each of its calls names. */
    lock: createLockStore(unguarded),
    events: createEventStore(guarded),
    sweeps: createSweepStore(guarded),
    tokens: createTokenStore(guarded),
    tombstones: createTombstoneStore(guarded),
    settings: createSettingStore(guarded),
    cooldowns: createCooldownStore(guarded),
    deliveries: createDeliveryStore(guarded),
    catalogues: createCatalogueStore(guarded),
  };
}
