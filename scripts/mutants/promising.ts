/** What is wrong in what mayfly says and does alike, so that only somebody with books of his own can tell. */
import { SIMULATION, type Mutant } from "./mutant.ts";

const BY_HAND = "test/simulation/by-hand.test.ts";

export const PROMISING: readonly Mutant[] = [
  {
    name: "twice the lease",
    broken: "a lease is twice as long as was asked for, in the row, on the label and in each answer",
    kind: "unit",
    promise: "I6",
    file: "src/lifecycle/plan.ts",
    find: "return now + (ttlMs ?? Math.min(rules.defaultTtlMs, longestOf(principal.policy, rules)));",
    replace: "return now + (ttlMs ?? rules.defaultTtlMs) * 2;",
    caughtBy: [BY_HAND],
  },
  {
    name: "ten times the longest lease",
    broken: "a machine may be renewed to ten times what its policy, or MAX_AGE, allows",
    kind: "unit",
    promise: "I6",
    file: "src/lifecycle/create.ts",
    find: "maxUntil: now + longestOf(principal.policy, context.rules),",
    replace: "maxUntil: now + 10 * longestOf(principal.policy, context.rules),",
    caughtBy: [BY_HAND],
  },
  {
    name: "kept for seconds",
    broken:
      "a machine whose job failed is kept for as many seconds as it should be for minutes, and the answer says so",
    kind: "unit",
    promise: "I4",
    file: "src/lifecycle/renew.ts",
    find: "const until = Math.min(now + row.keepOnFailureMs, mostUntil(policy, row));",
    replace: "const until = Math.min(now + row.keepOnFailureMs / 60, mostUntil(policy, row));",
    caughtBy: [BY_HAND],
  },
  {
    name: "another id each time",
    broken: "a repeat of a create is answered with an id that no machine has",
    kind: "key",
    promise: "I3",
    file: "src/lifecycle/record.ts",
    find: "done({ row, isNew: false, candidates: [] });",
    replace: 'done({ row: { ...row, uid: row.uid.replace(/.$/, "f") }, isNew: false, candidates: [] });',
    caughtBy: [BY_HAND],
  },
  {
    name: "found under its uid",
    broken: "a machine that is found again after D1 was lost has its uid for a name, which its owner does not know",
    kind: "key",
    promise: "I5",
    file: "src/lifecycle/adopt.ts",
    find: "name: checkName(name).ok ? name : rowUid,",
    replace: "name: checkName(name).ok ? rowUid : rowUid,",
    caughtBy: [BY_HAND],
  },
  {
    name: "silent and green",
    broken: "health is green for hours in which no sweep runs",
    kind: "check",
    promise: "I9",
    file: "src/reaper/health.ts",
    find: "if (silence <= MISSED_INTERVALS * INTERVAL_MS) return [];",
    replace: "if (silence <= 60 * MISSED_INTERVALS * INTERVAL_MS) return [];",
    caughtBy: [SIMULATION],
  },
];
