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

/** As many as the short run plays; the first that breaks a promise will do. */
const HISTORIES: readonly Order[] = [{ kind: "small", seed: 1, runs: 100, isFirstEnough: true }];

export type Bench = Awaited<ReturnType<typeof openBench>>;

/** Takes the whole process, whose working directory it changes: two benches are two processes. */
export async function openBench(root: string) {
  const copy = mkdtempSync(join(tmpdir(), "mayfly-mutants-"));
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  // However the process ends: on a signal Vitest ends it too, and waits for nobody.
  process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  // The paths in vitest.config.ts are relative to where it runs. What else would be said, or asked of the net, is of no use here.
  process.chdir(copy);
  Object.assign(process.env, { PWD: copy, CLOUDFLARE_CF_FETCH_ENABLED: "false" });

  // One for all bugs: what it has transformed once is there for the next, and a run costs two seconds instead of six.
  const options = { root: copy, run: true, watch: false, bail: 1, project: ["worker"], reporters: [{}] };
  const vitest = await createVitest("test", options);
  vitest.provide("histories", HISTORIES);

  function write(file: string, source: string): void {
    writeFileSync(join(copy, file), source);
    vitest.invalidateFile(join(copy, file));
  }

  return {
    /** Puts a bug in for as long as something runs. */
    async withMutant<T>(mutant: Mutant, act: () => Promise<T>): Promise<T> {
      const source = readFileSync(join(root, mutant.file), "utf8");
      const broken = mutated(source, mutant);
      if (!broken.ok) throw new Error(broken.trouble);
      write(mutant.file, broken.source);
      try {
        return await act();
      } finally {
        write(mutant.file, source);
      }
    },

    /**
     * Runs test files, or the tests in them that have one of the parts in their names, to the first failure: what failed, or null when all
     * passed. Throws where they could not run.
     */
    async firstFailure(files: readonly string[], parts: readonly string[]): Promise<string | null> {
      const pattern =
        parts.length === 0 ? {} : { testNamePattern: new RegExp(parts.map((part) => RegExp.escape(part)).join("|")) };
      // A pattern in a file's name would be a glob: they are named one by one, and each must be there.
      const found = await Promise.all(files.map((file) => vitest.globTestSpecifications([join(copy, file)])));
      const lacks = files.filter((_, index) => found[index]?.length !== 1);
      if (lacks.length > 0) throw new Error(`not one test file each: ${lacks.join(", ")}`);
      const specifications = found
        .flat()
        .map(({ project, moduleId }) => project.createSpecification(moduleId, pattern));
      // Else it answers with what earlier runs have left as well.
      vitest.state.filesMap.clear();
      vitest.state.idMap.clear();
      const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
      return judge(testModules, unhandledErrors);
    },

    /** The copy goes with the process. */
    close: (): Promise<void> => vitest.close(),
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
