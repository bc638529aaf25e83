// Runs the official Python client, as Debian packages it for the system's own Python.
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const PYTHON = "/usr/bin/python3";
const SCRIPT = fileURLToPath(new URL("python-client.py", import.meta.url));
// One task takes a second; a hanging one must not outlive the test run.
const TIMEOUT_MS = 30_000;

/** Whether the system's Python has the client. */
export function hasPythonClient(): boolean {
  return spawnSync(PYTHON, ["-c", "import hcloud"]).status === 0;
}

/** What the client made of a task of python-client.py against an API at that address (without `/v1`). */
export function pythonClient(url: string, task: string, input: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = execFile(PYTHON, [SCRIPT, url, task], { timeout: TIMEOUT_MS }, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout));
      else reject(error);
    });
    child.stdin?.end(JSON.stringify(input));
  });
}
