/**
 * How properties choose what they try: by chance, or by the seed that `PROPERTY_SEED` names. One that fails says how to see the same again.
 */
import fc from "fast-check";
import { expect, inject } from "vitest";
import type { PropertyOrder } from "./property-order.ts";

interface Test {
  readonly file: string;
  readonly name: string;
}

/** The test that is running. */
function currentTest(): Test {
  const { testPath = "", currentTestName = "" } = expect.getState();
  return { file: testPath.slice(testPath.lastIndexOf("/test/") + 1), name: currentTestName };
}

/** The command that plays again what has failed; a name is a pattern to vitest, and has no `>`. */
export const againOf = ({ seed, path }: PropertyOrder, { file, name }: Test): string =>
  [
    `PROPERTY_SEED=${seed}`,
    ...(path === undefined ? [] : [`PROPERTY_PATH=${path}`]),
    `npx vitest run ${file} -t "${name.replaceAll(" > ", " ").replaceAll(/[^\w ,;-]/g, ".")}"`,
  ].join(" ");

/** What fast-check goes by. */
export const parametersOf = <T>(order: PropertyOrder, test: () => Test = currentTest): fc.Parameters<T> => ({
  ...order,
  reporter: (details) => {
    if (!details.failed) return;
    const { seed, counterexamplePath, errorInstance } = details;
    const again = againOf({ seed, ...(counterexamplePath === null ? {} : { path: counterexamplePath }) }, test());
    throw new Error(`${fc.defaultReportMessage(details)}\n\nThe same again: ${again}`, { cause: errorInstance });
  },
});

/** To be called before any test runs. */
export const configureProperties = (): void => fc.configureGlobal(parametersOf(inject("property")));
