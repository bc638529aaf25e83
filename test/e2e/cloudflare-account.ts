// An account at Cloudflare for a test: a copy of mayfly to deploy from, a wrangler on the PATH that records, and what they have done.
import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { makeCopy, type Copy } from "./copy.ts";
import { account, EMPTY, type Account, type Order } from "./fake-wrangler.ts";
import { ROOT } from "./npm-start.ts";

const call = z.object({ command: z.string(), input: z.string(), given: z.array(z.string()) });
export type Call = z.infer<typeof call>;
const NODE = `${ROOT}/node_modules/.bin/node`;

/** How a script ended, and all that it said. */
export interface Said {
  readonly code: number;
  readonly output: string;
}

export interface CloudflareAccount {
  readonly copy: Copy;
  /** Makes it empty, with this order for its wrangler. */
  reset(order: Order): Promise<void>;
  /** Another order for the same account. */
  order(order: Order): Promise<void>;
  set(state: Account): Promise<void>;
  see(): Promise<Account>;
  /** The commands of wrangler since the last `reset`. */
  calls(): Promise<Call[]>;
  /** What a process sees of its surroundings: this wrangler, and what is named. */
  environment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv;
  /** Runs a script of the copy in a process of its own. */
  run(script: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Said>;
  /** The same on a terminal, at which somebody types this. */
  runOnTerminal(
    script: string,
    typed: readonly (readonly [RegExp, string])[],
    env: Readonly<Record<string, string>>,
  ): Promise<Said>;
  remove(): Promise<void>;
}

export async function openAccount(): Promise<CloudflareAccount> {
  const copy = await makeCopy();
  const folder = await mkdtemp(join(tmpdir(), "mayfly-cloudflare-"));
  await mkdir(`${folder}/bin`);
  const program = `#!/bin/sh\nexec "${NODE}" "${ROOT}/test/e2e/fake-wrangler.ts" "$@"\n`;
  await writeFile(`${folder}/bin/wrangler`, program);
  await chmod(`${folder}/bin/wrangler`, 0o755);
  const write = (file: string, value: unknown): Promise<void> =>
    writeFile(`${folder}/${file}.json`, JSON.stringify(value));
  const environment = (env: Readonly<Record<string, string>>) => ({
    HOME: process.env["HOME"],
    PATH: `${folder}/bin:${process.env["PATH"] ?? ""}`,
    FAKE_WRANGLER: folder,
    ...env,
  });
  return {
    copy,
    environment,
    async reset(order) {
      for (const file of ["calls", "lost"]) await rm(`${folder}/${file}`, { force: true });
      for (const file of ["secrets.json", ".wrangler"])
        await rm(join(copy.path, file), { recursive: true, force: true });
      await write("account", EMPTY);
      await write("order", order);
    },
    order: (order) => write("order", order),
    set: (state) => write("account", state),
    async see() {
      return account.parse(JSON.parse(await readFile(`${folder}/account.json`, "utf8")));
    },
    async calls() {
      const lines = (await readFile(`${folder}/calls`, "utf8")).trim().split("\n");
      return lines.map((line) => call.parse(JSON.parse(line)));
    },
    run: (script, args, env) =>
      ended(
        spawn(NODE, [script, ...args], { cwd: copy.path, env: environment(env), stdio: ["ignore", "pipe", "pipe"] }),
      ),
    runOnTerminal(script, typed, env) {
      const child = spawn("script", ["-qec", `${NODE} ${script}`, "/dev/null"], {
        cwd: copy.path,
        env: environment(env),
      });
      return ended(child, [...typed]);
    },
    async remove() {
      await copy.remove();
      await rm(folder, { recursive: true });
    },
  };
}

function ended(child: ReturnType<typeof spawn>, typed: (readonly [RegExp, string])[] = []): Promise<Said> {
  let output = "";
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
    // As a person does it: once the question stands there.
    if (typed[0]?.[0].test(output)) child.stdin?.write(typed.shift()?.[1] ?? "");
  };
  child.stdout?.on("data", take);
  child.stderr?.on("data", take);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
