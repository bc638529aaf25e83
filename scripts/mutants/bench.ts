/** A copy of the sources in which bugs are tried, one at a time. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVitest, type TestModule } from "vitest/node";
import type { Order } from "../../test/simulation/order.ts";
import { mutated, type Mutant } from "./mutant.ts";

const COPIED = [
  "src",
  "test",
  "docs",
  "migrations",
  "public",
  "package.json",
  "tsconfig.json",
  "mayfly.config.ts",
  "vitest.config.ts",
  "wrangler.toml",
];

/** Three times as many as the short run plays; the first that breaks a promise will do. */
const HISTORIES: readonly Order[] = [{ kind: "small", seed: 1, runs: 300, isFirstEnough: true }];

export type Bench = ReturnType<typeof openBench>;

export function openBench(root: string) {
  const copy = mkdtempSync(join(tmpdir(), "mayfly-mutants-"));
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  // The paths in vitest.config.ts are relative to where it runs. What else would be said, or asked of the net, is of no use here.
  process.chdir(copy);
  Object.assign(process.env, { PWD: copy, CLOUDFLARE_CF_FETCH_ENABLED: "false" });

  return {
    /** Puts a bug in for as long as something runs. */
    async withMutant<T>(mutant: Mutant, act: () => Promise<T>): Promise<T> {
      const source = readFileSync(join(root, mutant.file), "utf8");
      writeFileSync(join(copy, mutant.file), mutated(source, mutant));
      try {
        return await act();
      } finally {
        writeFileSync(join(copy, mutant.file), source);
      }
    },

    /** Runs test files, to the first failure: what failed, or null when all passed. Throws where they could not run. */
    async firstFailure(files: readonly string[]): Promise<string | null> {
      const options = { root: copy, run: true, watch: false, bail: 1, project: ["worker"], reporters: [{}] };
      const vitest = await createVitest("test", options);
      try {
        vitest.provide("histories", HISTORIES);
        const { testModules, unhandledErrors } = await vitest.start([...files]);
        return judge(testModules, unhandledErrors);
      } finally {
        await vitest.close();
      }
    },

    remove(): void {
      process.chdir(root);
      rmSync(copy, { recursive: true });
    },
  };
}

/** A bug that keeps tests from running has not been caught by them. */
function judge(modules: readonly TestModule[], unhandled: readonly unknown[]): string | null {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const failed = tests.find((test) => test.result().state === "failed");
  if (failed) return failed.meta().histories?.failure?.split("\n")[0] ?? failed.fullName;
  const errors = [...unhandled, ...modules.flatMap((module) => module.errors())];
  if (errors.length === 0 && tests.some((test) => test.result().state === "passed")) return null;
  throw new AggregateError(errors, "the tests could not run");
}
