// wrangler as a program on the PATH: how it is run, and what it tells for programs.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { readIfThere } from "../files.ts";
import { jsonText } from "../json-text.ts";

const event = z.looseObject({
  type: z.string(),
  /** Of a failed command. */
  message: z.string().optional(),
  /** Of a deploy: where it can be reached. */
  targets: z.array(z.string()).nullish(),
});
export type WranglerEvent = z.infer<typeof event>;

/** How a command of wrangler ended. */
export interface Ran {
  readonly args: readonly string[];
  readonly code: number;
  readonly stdout: string;
  /** What it said for people, on either stream. */
  readonly output: string;
  readonly events: readonly WranglerEvent[];
}

/** Runs a command; rejects only where there is no wrangler. What is given as `stdin` stands nowhere else. */
export type Wrangler = (args: readonly string[], stdin?: string) => Promise<Ran>;

/** Not handed on: wrangler would take them for values of its own, and needs none of them. */
const isOurs = (name: string): boolean =>
  ["HCLOUD_TOKEN", "ADMIN_TOKEN", "INSTALLATION", "MAYFLY_TOKEN"].includes(name) || name.startsWith("HOOK_");

/** A {@link Wrangler} that works in that folder. */
export function createWrangler(cwd: string, env: NodeJS.ProcessEnv): Wrangler {
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name)));
  return async (args, stdin) => {
    const folder = mkdtempSync(join(tmpdir(), "mayfly-wrangler-"));
    const events = join(folder, "events");
    const input = stdin === undefined ? null : openNameless(folder, stdin);
    try {
      const child = spawn("wrangler", args, {
        cwd,
        env: {
          ...passed,
          WRANGLER_HIDE_BANNER: "true",
          WRANGLER_SEND_METRICS: "false",
          WRANGLER_OUTPUT_FILE_PATH: events,
        },
        stdio: [input ?? "ignore", "pipe", "pipe"],
      });
      const { code, stdout, output } = await ended(child);
      return { args, code, stdout, output, events: await eventsIn(events) };
    } finally {
      if (input !== null) closeSync(input);
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/**
 * A file to read from, that no longer has a name when something is written into it. wrangler opens its standard input by the name
 * `/dev/stdin`, which does not work with the sockets that Node gives a child in place of pipes.
 */
function openNameless(folder: string, text: string): number {
  const path = join(folder, randomBytes(8).toString("hex"));
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  // At a position, so that whoever inherits the file reads from its beginning.
  writeSync(file, text, 0);
  return file;
}

function ended(child: ReturnType<typeof spawn>): Promise<Pick<Ran, "code" | "stdout" | "output">> {
  let stdout = "";
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    output += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once("error", (cause) =>
      reject(new Error(`wrangler cannot be run; run this as an npm script, after npm ci: ${cause.message}`, { cause })),
    );
    child.once("close", (code) => resolve({ code: code ?? 1, stdout, output }));
  });
}

/** Older ones, and commands without anything to tell, write none. */
async function eventsIn(file: string): Promise<WranglerEvent[]> {
  const lines = ((await readIfThere(file)) ?? "").split("\n");
  return lines.filter((line) => line !== "").map((line) => jsonText.pipe(event).parse(line));
}

/** Why a command failed, in wrangler's words. */
export const reasonOf = ({ events, output }: Ran): string =>
  events.findLast(({ type }) => type === "command-failed")?.message ?? lastLines(output);

const lastLines = (output: string): string => output.trim().split("\n").slice(-12).join("\n");

/** The same where only success will do: throws what wrangler said otherwise. */
export async function demand(wrangler: Wrangler, args: readonly string[], stdin?: string): Promise<Ran> {
  const ran = await wrangler(args, stdin);
  if (ran.code !== 0) throw new Error(`wrangler ${args.join(" ")} failed: ${reasonOf(ran)}`);
  return ran;
}

/** What a command printed as JSON, whatever stands before it; throws where that is something else than is expected. */
export function jsonIn<T>({ args, stdout }: Ran, shape: z.ZodType<T>): T {
  const begin = stdout.search(/^[[{]/m);
  const read = jsonText.pipe(shape).safeParse(stdout.slice(Math.max(0, begin)));
  if (read.success) return read.data;
  throw new Error(`what wrangler ${args.join(" ")} says cannot be read: is it another version?`);
}
