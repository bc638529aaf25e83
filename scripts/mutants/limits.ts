// Deliberate bugs in how many machines there may be.
import type { Mutant } from "./mutant.ts";

export const LIMITS: readonly Mutant[] = [
  {
    name: "look before the insert",
    broken: "how many machines there are is looked at, and not decided by the insert",
    promise: "I6",
    file: "src/store/machines.ts",
    find: '${revoked("?")} UNION ALL ${BEYOND_LIMITS}`',
    replace: '${revoked("?")} UNION ALL SELECT 1 WHERE coalesce(?, ?, ?, ?) < 0`',
    caughtBy: ["test/lifecycle/limits.test.ts"],
  },
  {
    name: "dying is gone",
    broken: "a machine that is being destroyed counts no more, though nobody has proven it gone",
    promise: "I6",
    file: "src/store/machine-limits.ts",
    find: "(SELECT count(*) FROM machines WHERE account = new.account AND ${LIVE_MACHINE}) >= ?",
    replace: "(SELECT count(*) FROM machines WHERE account = new.account AND phase IN ('requested', 'active')) >= ?",
    caughtBy: ["test/lifecycle/limits.test.ts"],
  },
  {
    name: "all without a limit",
    broken: "MAX_MACHINES binds each account, and not all of them together",
    promise: "I6",
    file: "src/store/machine-limits.ts",
    find: "OR (SELECT count(*) FROM machines WHERE ${LIVE_MACHINE}) >= ?",
    replace: "OR ? < 0",
    caughtBy: ["test/lifecycle/limits.test.ts"],
  },
  {
    name: "account lost at adoption",
    broken: "a machine that is found without a row counts for its owner, whatever account its label tells",
    promise: "I6",
    file: "src/store/machine-orphans.ts",
    find: "account: row.account,",
    replace: "account: row.owner,",
    caughtBy: ["test/lifecycle/limits.test.ts"],
  },
];
