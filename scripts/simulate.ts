// `npm run simulate -- --seed N --runs M`: plays M fault histories of that seed and says what struck and what came of it. A
// history that breaks a promise is made as small as it gets and printed, with the command that plays it again.
import { parseArgs } from "node:util";
import { createVitest } from "vitest/node";
import type { Order, Result } from "../test/simulation/order.ts";

// Nothing is asked of the net.
process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    runs: { type: "string", default: "200" },
    path: { type: "string" },
  },
});

async function simulate(order: Order): Promise<Result> {
  const vitest = await createVitest("test", { run: true, watch: false, project: ["worker"], reporters: [{}] });
  try {
    vitest.provide("histories", order);
    const { testModules, unhandledErrors } = await vitest.start(["test/simulation/simulation.test.ts"]);
    const tests = testModules.flatMap((module) => [...module.children.allTests()]);
    const result = tests.map((test) => test.meta().histories).find((one) => one !== undefined);
    if (result !== undefined) return result;
    throw new AggregateError(
      [
        ...unhandledErrors,
        ...testModules.flatMap((module) => module.errors()),
        ...tests.flatMap((test) => test.result().errors ?? []),
      ],
      "the histories could not be played",
    );
  } finally {
    await vitest.close();
  }
}

const order: Order = {
  seed: Number(values.seed),
  runs: Number(values.runs),
  ...(values.path === undefined ? {} : { path: values.path }),
};
console.log(`seed ${order.seed}, ${order.path === undefined ? `${order.runs} histories` : `path ${order.path}`}`);
const startedAt = Date.now();
const { tally, failure } = await simulate(order);
const seconds = (Date.now() - startedAt) / 1000;
console.log(
  `${tally.histories} histories in ${seconds.toFixed(0)} s: ${tally.ticks} ticks, ${tally.answers} requests, ` +
    `${tally.born} machines made, ${tally.died} gone, longest overstay past expires_at ${tally.longestOverstay} good ticks`,
);
const served = Object.entries(tally.served).map(([who, times]) => `${who} ${times}`);
console.log(`  served: ${served.toSorted((a, b) => a.localeCompare(b)).join(", ")}`);
const sorted = (counts: Record<string, number>) => Object.entries(counts).sort(([a], [b]) => a.localeCompare(b));
for (const [what, times] of sorted(tally.strikes)) console.log(`${what.padEnd(20)} ${times}`);
for (const [what, times] of sorted(tally.money)) console.log(`  money: ${what} ${times}`);
if (failure !== null) {
  console.error(failure);
  process.exitCode = 1;
}
