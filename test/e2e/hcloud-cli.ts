// Runs the real hcloud command line, cut off from its user's configuration.
import { execFile, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How a command ended and what it printed. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

// One command takes milliseconds; a hanging one must not outlive the test run.
const TIMEOUT_MS = 20_000;

/** Whether there is an hcloud on the PATH. */
export function hasHcloud(): boolean {
  return spawnSync("hcloud", ["version"], { env: environment("http://127.0.0.1:1") }).status === 0;
}

/** Runs `hcloud ARGS` against an API at that address (without `/v1`); a refusal is an exit code, not an exception. */
export function hcloud(url: string, args: string[], input = ""): Promise<Ended> {
  const options = { env: environment(url), timeout: TIMEOUT_MS };
  return new Promise((resolve, reject) => {
    const child = execFile("hcloud", ["--poll-interval", "10ms", ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      else reject(error);
    });
    child.stdin?.end(input);
  });
}

function environment(url: string): NodeJS.ProcessEnv {
  const home = join(tmpdir(), "mayfly-no-such-home");
  return {
    PATH: process.env["PATH"],
    HOME: home,
    HCLOUD_CONFIG: join(home, "cli.toml"),
    HCLOUD_TOKEN: "simulated",
    HCLOUD_ENDPOINT: `${url}/v1`,
  };
}
