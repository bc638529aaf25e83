// A process of `npm run simulate`: plays what it is sent in a workerd of its own, order by order, and sends what came of each.
import { createVitest, type TestCase } from "vitest/node";
import type { Order, Result } from "../../test/simulation/order.ts";

/** What a player sends: of each order what came of it, or why none could be played. */
export type Sent = { readonly result: Result } | { readonly error: string };

const send = (sent: Sent): void => void process.send?.(sent);

/** A test that failed by a promise has a result too; one without is an error of ours. */
function tell(test: TestCase): void {
  const { histories } = test.meta();
  const { state, errors } = test.result();
  if (histories !== undefined) send({ result: histories });
  else if (state === "failed")
    send({ error: [test.name, ...(errors ?? []).map(({ message, stack }) => stack ?? message)].join("\n") });
}

async function playAll(orders: readonly Order[]): Promise<void> {
  const vitest = await createVitest("test", {
    run: true,
    watch: false,
    project: ["worker"],
    reporters: [{ onTestCaseResult: tell }],
  });
  try {
    vitest.provide("histories", orders);
    const { testModules, unhandledErrors } = await vitest.start(["test/simulation/simulation.test.ts"]);
    const errors = [...unhandledErrors, ...testModules.flatMap((module) => module.errors())];
    for (const error of errors) send({ error: JSON.stringify(error) });
  } finally {
    await vitest.close();
  }
}

process.once("message", (orders: readonly Order[]) => {
  // Vitest sets the exit code for a test that fails, of which has been told.
  void playAll(orders)
    .then(() => (process.exitCode = 0))
    .finally(() => process.disconnect());
});
