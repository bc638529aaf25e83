/** What a GitHub runner and its actions tell each other: by variables of the environment, by files, and by lines on standard output. */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What stands in a way that only a person can clear; its message says how. */
export class Failure extends Error {
  override readonly name = "Failure";
}

export function openRunner(env: Environment, print: (line: string) => void) {
  const say = (command: string, text: string): void => print(`::${command}::${escaped(text)}`);
  const append = (file: string, text: string): void => {
    const path = env[file] ?? "";
    if (path !== "") appendFileSync(path, text);
  };
  return {
    env,
    /** What the workflow says of an input, without blanks around it; `""` where it says nothing. */
    input: (name: string): string => (env[`INPUT_${name.toUpperCase()}`] ?? "").trim(),
    /** What an earlier part of this very step has kept. */
    state: (name: string): string => env[`STATE_${name}`] ?? "",
    /** Keeps something for the part of the step that runs when the job ends. */
    keep: (name: string, value: string): void => append("GITHUB_STATE", entry(name, value)),
    output: (name: string, value: string): void => append("GITHUB_OUTPUT", entry(name, value)),
    summarise: (markdown: string): void => append("GITHUB_STEP_SUMMARY", `${markdown}\n`),
    /** From here on the log shows this as `***`. */
    mask: (secret: string): void => say("add-mask", secret),
    tell: print,
    warn: (text: string): void => say("warning", text),
    fail: (text: string): void => say("error", text),
  };
}
export type Runner = ReturnType<typeof openRunner>;

function entry(name: string, value: string): string {
  const end = `end_${randomUUID()}`;
  return `${name}<<${end}\n${value}\n${end}\n`;
}

const escaped = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
