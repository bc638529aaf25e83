import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { createsAt, openDoor, refusing, type Door } from "./door.ts";
import { ROOT } from "./npm-start.ts";
import { canServeSsh, serveSsh } from "./simulated-ssh.ts";

const execute = promisify(execFile);
const SCRIPT = join(ROOT, "public/ci/machine.sh");
const canServe = await canServeSsh();

const failed = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });

describe("machine.sh", () => {
  let stack: Stack;
  let door: Door;
  let folder: string;

  beforeAll(async () => {
    stack = await startStack({
      settings: { ADMIN_TOKEN: "e2e-admin", HCLOUD_TOKEN: "e2e-hcloud", INSTALLATION: "local" },
    });
    door = await openDoor(() => stack.url);
  });
  afterAll(async () => {
    await stack.stop();
    await door.close();
  });
  let jobs = 4000;
  beforeEach(async () => {
    jobs += 1;
    folder = await mkdtemp(join(tmpdir(), "mayfly-script-"));
    door.pass();
  });
  afterEach(async () => {
    stack.simulator?.controls.clearFaults();
    await rm(folder, { recursive: true });
  });

  const environment = (more: Record<string, string> = {}) => ({
    PATH: process.env["PATH"] ?? "",
    MAYFLY: door.url,
    MAYFLY_TOKEN: "e2e-admin",
    CI_JOB_ID: String(jobs),
    MAYFLY_CIDR: "203.0.113.7/32",
    MAYFLY_DIR: join(folder, "own"),
    ...more,
  });
  async function run(what: string, more: Record<string, string> = {}) {
    try {
      return { code: 0, ...(await execute("bash", [SCRIPT, what], { cwd: folder, env: environment(more) })) };
    } catch (error) {
      return failed.parse(error);
    }
  }
  const controls = () => {
    if (stack.simulator === null) throw new Error("there is no simulator");
    return stack.simulator.controls;
  };

  it.skipIf(!canServe)("gets a machine that its key opens, passes user data on as it is, and ends it", async () => {
    const userData = '#cloud-config\nruncmd:\n\t- echo "a\\b" > /tmp/ü\n\n';
    await writeFile(join(folder, "user-data"), userData);
    const begun = run("up", { MAYFLY_CLOUD_INIT: join(folder, "user-data") });
    const ssh = await serveSsh(controls());
    try {
      expect(await begun).toMatchObject({ code: 0 });
      const [server] = controls().state().servers;
      expect([server?.name, server?.user_data]).toEqual([expect.stringMatching(/^job-\d+-/) as unknown, userData]);
      expect(controls().state().firewalls).toMatchObject([{ rules: [{ source_ips: ["203.0.113.7/32"] }] }]);
      const { stdout } = await execute("bash", ["-c", '. "$MAYFLY_DIR/env"; $MACHINE_SSH -o BatchMode=yes echo in'], {
        env: environment(),
      });
      expect(stdout).toBe("in\n");
      expect((await stat(join(folder, "own/token"))).mode & 0o777).toBe(0o600);
    } finally {
      expect(await run("down")).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/and cost 0\.\d+ EUR/) as unknown,
      });
      await ssh.stop();
    }
    expect(controls().state().servers).toEqual([]);
  });

  it("leaves nothing where the job is cancelled while its create is under way", async () => {
    controls().fault({ method: "POST", path: "^/v1/servers$", delay_ms: 3000 });
    const before = createsAt(controls());
    const child = spawn("bash", [SCRIPT, "up"], { cwd: folder, env: environment() });
    while (createsAt(controls()) === before) await sleep(50);
    child.kill("SIGKILL");
    expect((await run("down")).code).toBe(0);
    await sleep(4000);
    await stack.tick(Date.now());
    expect(controls().state().servers).toEqual([]);
  });

  it("tries again what may pass, and tells at once what does not", async () => {
    door.answer(refusing(2));
    expect((await run("down")).code).toBe(0);
    const refused = await run("up", { MAYFLY_SERVER_TYPE: "cx1", CI_JOB_ID: "4712" });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('"field":"server_type"') as unknown });
    expect(controls().state().servers).toEqual([]);
  });

  it.each([
    [{ MAYFLY: "" }, /MAYFLY: is not set/],
    [{ MAYFLY_TOKEN: "" }, /MAYFLY_TOKEN: is not set/],
    [{ CI_JOB_ID: "" }, /MAYFLY_NAME is not set/],
    [{ MAYFLY_TOKEN: "wrong" }, /401 .*unauthorized/],
  ])("says what is missing: %j", async (more, sentence) => {
    expect(await run("up", more)).toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) as unknown });
  });

  it.skipIf(!canServe)("ci/gitlab.yml, run as GitLab runs it, has a machine for the job and ends it", async () => {
    const component = await (await fetch(`${stack.url}/ci/gitlab.yml`)).text();
    expect(component).toBe(await readFile(join(ROOT, "public/ci/gitlab.yml"), "utf8"));
    /** The lines of a part of the job. */
    const part = (name: string) =>
      [...(new RegExp(`^  ${name}:\\n((?: {4}- .*\\n)+)`, "m").exec(component)?.[1] ?? "").matchAll(/- (.*)\n/g)]
        .map(([, line = ""]) => line.replaceAll("/tmp/", `${folder}/`))
        .join("\n");
    const step = (script: string) =>
      execute("bash", ["-e", "-c", script], {
        cwd: folder,
        env: environment({
          MAYFLY_DIR: ".mayfly",
          MAYFLY_SERVER_TYPE: "cx23",
          MAYFLY_REGION: "fsn1",
          MAYFLY_TTL: "45m",
        }),
      });
    const begun = step(`${part("before_script")}\n$MACHINE_SSH -o BatchMode=yes echo in`);
    const ssh = await serveSsh(controls());
    try {
      expect((await begun).stdout).toBe("in\n");
    } finally {
      await step(part("after_script"));
      await ssh.stop();
    }
    expect(controls().state().servers).toEqual([]);
  });
});
