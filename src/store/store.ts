import { openSql } from "./db.ts";
import { createLockStore } from "./lock.ts";
import { createMachineStore } from "./machines.ts";
import { createSettingStore } from "./settings.ts";
import { createSweepStore } from "./sweeps.ts";
import { createTokenStore } from "./tokens.ts";

export type Store = ReturnType<typeof openStore>;

/** All repositories over one D1 binding. `onStatements` is told how many statements go out. */
export function openStore(db: D1Database, onStatements: (count: number) => void) {
  const sql = openSql(db, onStatements);
  return {
    machines: createMachineStore(sql),
    lock: createLockStore(sql),
    sweeps: createSweepStore(sql),
    tokens: createTokenStore(sql),
    settings: createSettingStore(sql),
  };
}
