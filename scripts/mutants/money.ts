/** What is wrong in what machines are charged. */
import type { Mutant } from "./mutant.ts";

export const MONEY: readonly Mutant[] = [
  {
    name: "month's end",
    broken: "all hours of a machine count in the month in which it was created",
    kind: "boundary",
    promise: "I6",
    file: "src/machine/money.ts",
    find: "Math.min(hours.end, Math.ceil((endOf(new Date(begins)) - createdAt) / HOUR_MS));",
    replace: "Math.max(hours.end, 0 * endOf(new Date(begins)));",
    caughtBy: ["test/machine/money.test.ts"],
  },
  {
    name: "another project's currency",
    broken: "what was learnt of one credential's project is believed of another's",
    kind: "key",
    promise: "I6",
    file: "src/lifecycle/catalogue.ts",
    find: "known?.credential === (await credential())",
    replace: 'known?.credential !== ""',
    caughtBy: ["test/http/trips.test.ts"],
  },
  {
    name: "hour rounded down",
    broken: "an hour that has only begun is not charged",
    kind: "boundary",
    promise: "I6",
    file: "src/machine/money.ts",
    find: "Math.ceil((until - from) / HOUR_MS)",
    replace: "Math.floor((until - from) / HOUR_MS)",
    caughtBy: ["test/machine/money.test.ts"],
  },
  {
    name: "today's price",
    broken: "a machine is charged what new orders cost, not what it was ordered at",
    kind: "write",
    promise: "I6",
    file: "src/store/machine-observations.ts",
    find: "iif(provider_id IS NULL, ",
    replace: "iif(true, ",
    caughtBy: ["test/lifecycle/money.test.ts"],
  },
];
