// A step of a GitHub job that uses the Action: the files and variables that its runner gives it, and the processes that it starts.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./npm-start.ts";

/** As `action/action.yml` names them. */
const MAIN = join(ROOT, "action/dist/index.mjs");
const POST = join(ROOT, "action/post.mjs");

/** What came of a part of a step. */
export interface Part {
  readonly code: number | null;
  readonly log: string;
}

export interface Step {
  /** Begins its first part; `killed` ends that with SIGKILL, as a runner does that is taken away. */
  begin(): { readonly child: ChildProcess; readonly ended: Promise<Part> };
  main(): Promise<Part>;
  /** Begins its first part below a shell, which stands for the runner: when that is killed, nobody is told. */
  beginUnderRunner(): ChildProcess;
  /** Its last part, when the job is over. */
  post(): Promise<Part>;
  /** What a file of the runner's holds: `output`, `state`. */
  told(file: "output" | "state"): Promise<Readonly<Record<string, string>>>;
  summary(): Promise<string>;
  readonly folder: string;
}

/** A step with these inputs, in a job of that name, under a runner that has `env`. */
export async function openStep(
  job: string,
  inputs: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Promise<Step> {
  const folder = await mkdtemp(join(tmpdir(), "mayfly-job-"));
  const files = { GITHUB_OUTPUT: "output", GITHUB_STATE: "state", GITHUB_STEP_SUMMARY: "summary" };
  for (const file of Object.values(files)) await writeFile(join(folder, file), "");
  const defaults = { ttl: "30m", renew: "true", wait_for: "ssh", ssh_port: "22" };
  const variables = {
    PATH: process.env["PATH"] ?? "",
    GITHUB_JOB: job,
    RUNNER_TEMP: folder,
    ...Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(folder, file)])),
    ...Object.fromEntries(
      Object.entries({ ...defaults, ...inputs }).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
    ),
    ...env,
  };
  const told: Step["told"] = async (file) =>
    Object.fromEntries(
      [...(await readFile(join(folder, file), "utf8")).matchAll(/^(\w+)<<(\S+)\n(.*?)\n\2$/gms)].map(
        ([, name = "", , value = ""]) => [name, value],
      ),
    );
  const begin = (script: string, state: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, [script], { env: { ...variables, ...state } });
    let log = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
    const ended = new Promise<Part>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, log }));
    });
    return { child, ended };
  };
  return {
    folder,
    told,
    begin: () => begin(MAIN),
    beginUnderRunner: () =>
      spawn("bash", ["-c", `"${process.execPath}" "${MAIN}"; sleep 600`], { env: variables, stdio: "ignore" }),
    main: async () => begin(MAIN).ended,
    async post() {
      const state = Object.entries(await told("state")).map(([name, value]): [string, string] => [
        `STATE_${name}`,
        value,
      ]);
      return begin(POST, Object.fromEntries(state)).ended;
    },
    summary: async () => readFile(join(folder, "summary"), "utf8"),
  };
}
