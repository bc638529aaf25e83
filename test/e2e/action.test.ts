import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { AUDIENCE, createIssuer, githubClaims, type TestIssuer } from "../auth/issuer.ts";
import { createsAt, openDoor, refusing, type Door } from "./door.ts";
import { openStep } from "./github-job.ts";
import { canServeSsh, serveSsh } from "./simulated-ssh.ts";

const execute = promisify(execFile);
const canServe = await canServeSsh();
if (!canServe) console.warn("skipped: no sshd can be served at another address here");
/** What the runner itself must show to be given a token. */
const RUNNER = "runner-token-of-this-test";

/** What the system says of a process: `gone`, or its letter, as `S`; `Z` has ended. */
async function stateOf(pid: string): Promise<string> {
  const { stdout } = await execute("bash", ["-c", `cut -d' ' -f3 /proc/${pid}/stat 2>/dev/null || echo gone`]);
  return stdout.trim();
}

describe("the GitHub Action", () => {
  let forge: SimulatorServer;
  let door: Door;
  let issuer: TestIssuer;
  let stack: Stack;
  /** How many tokens the forge has signed. */
  let signed = 0;

  async function serveForge(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/token") return issuer.fetch(request);
    if (request.headers.get("Authorization") !== `Bearer ${RUNNER}`) return new Response("no", { status: 401 });
    signed += 1;
    return Response.json({ value: await issuer.sign(githubClaims({ aud: searchParams.get("audience") }), Date.now()) });
  }

  beforeAll(async () => {
    forge = await serveSimulator({ fetch: serveForge }, 0);
    door = await openDoor(() => stack.url);
    issuer = await createIssuer({ url: forge.url });
    stack = await startStack({
      settings: {
        ADMIN_TOKEN: "e2e-admin",
        HCLOUD_TOKEN: "e2e-hcloud",
        INSTALLATION: "local",
        OIDC_AUDIENCE: AUDIENCE,
        ISSUERS: JSON.stringify([{ name: "forge", url: forge.url, kind: "github" }]),
        POLICIES: JSON.stringify([{ name: "ci", issuer: "forge", claims: { repository_id: "74" } }]),
        PROFILES: "{}",
      },
    });
  });
  afterEach(() => {
    door.pass();
    stack.simulator?.controls.clearFaults();
  });
  afterAll(async () => {
    await stack.stop();
    await forge.close();
    await door.close();
  });

  const open = (job = "test", inputs: Record<string, string> = {}, env: Record<string, string> = {}) =>
    openStep(
      job,
      { url: door.url, audience: AUDIENCE, cidr: "203.0.113.7/32", wait_for: "running", ...inputs },
      {
        ACTIONS_ID_TOKEN_REQUEST_URL: `${forge.url}/token?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: RUNNER,
        ...env,
      },
    );
  const controls = () => {
    if (stack.simulator === null) throw new Error("there is no simulator");
    return stack.simulator.controls;
  };
  const lives = () => controls().state().servers.length;

  it("gets a machine with a key and a firewall of its own, and ends it; the summary tells what it cost", async () => {
    const step = await open("Build & test");
    expect(await step.main()).toMatchObject({ code: 0 });
    const { ip, id, name, ssh_key_path: path = "" } = await step.told("output");
    expect({ ip, id, name }).toEqual({
      ip: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/) as unknown,
      id: expect.stringMatching(/^mch_/) as unknown,
      name: expect.stringMatching(/^build-test-[a-z2-7]{8}$/) as unknown,
    });
    const { firewalls, ssh_keys: keys } = controls().state();
    expect(firewalls).toMatchObject([{ rules: [{ port: "22", source_ips: ["203.0.113.7/32"] }] }]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    // OpenSSH itself reads the private key, and has the same public one of it.
    const { stdout } = await execute("ssh-keygen", ["-y", "-f", path]);
    expect(keys.map((key) => key.public_key.split(" ").slice(0, 2).join(" "))).toContain(stdout.trim());
    expect(await step.post()).toMatchObject({
      code: 0,
      log: expect.stringContaining(`${name} is destroyed`) as unknown,
    });
    expect(lives()).toBe(0);
    expect(await step.summary()).toMatch(/\| cx23 \| fsn1 \| \d min \| 1 \| 0\.\d{4} € \|/);
  });

  it.skipIf(!canServe)("waits until the machine's sshd answers, and its key opens it", async () => {
    const step = await open("test", { wait_for: "ssh" });
    const { ended } = step.begin();
    const ssh = await serveSsh(controls());
    try {
      expect(await ended).toMatchObject({ code: 0 });
      const { ip = "", ssh_key_path: path = "" } = await step.told("output");
      const options = [
        "StrictHostKeyChecking=accept-new",
        `UserKnownHostsFile=${step.folder}/known_hosts`,
        "BatchMode=yes",
      ];
      const { stdout } = await execute("ssh", [
        ...options.flatMap((one) => ["-o", one]),
        "-i",
        path,
        `root@${ip}`,
        "echo in",
      ]);
      expect(stdout).toBe("in\n");
    } finally {
      await step.post();
      await ssh.stop();
    }
  });

  it("never meets another: five jobs of a matrix, a re-run of them, and two uses in one job", async () => {
    const steps = await Promise.all(Array.from({ length: 7 }, () => open()));
    const parts = await Promise.all(steps.map((step) => step.main()));
    expect(parts.map(({ code }) => code)).toEqual(Array(7).fill(0));
    const names = await Promise.all(steps.map(async (step) => (await step.told("output"))["name"]));
    expect(new Set(names).size).toBe(7);
    expect(lives()).toBe(7);
    await Promise.all(steps.slice(1).map((step) => step.post()));
    expect(lives()).toBe(1);
    await steps[0]?.post();
    expect(lives()).toBe(0);
  });

  it("leaves nothing where the job is cancelled while the create is under way", async () => {
    const step = await open();
    controls().fault({ method: "POST", path: "^/v1/servers$", delay_ms: 3000 });
    const before = createsAt(controls());
    const { child, ended } = step.begin();
    while (createsAt(controls()) === before) await sleep(50);
    child.kill("SIGKILL");
    await ended;
    expect((await step.post()).code).toBe(0);
    await sleep(4000);
    await stack.tick(Date.now());
    expect(lives()).toBe(0);
  });

  it("ends its machine though mayfly answers 503 three times, each time with a token of its own", async () => {
    const step = await open();
    await step.main();
    door.answer(refusing(3, ({ method }) => method === "DELETE"));
    const before = signed;
    expect((await step.post()).code).toBe(0);
    expect([lives(), signed - before]).toEqual([0, 4]);
  });

  it("does not fail the job where mayfly cannot be reached at its end, and says what becomes of the machine", async () => {
    const step = await open();
    await step.main();
    door.answer(() => new Response('{"code": "forbidden", "detail": "No."}', { status: 403 }));
    const { code, log } = await step.post();
    expect([code, log]).toEqual([
      0,
      expect.stringMatching(/^::warning::test-\w+ could not be ended now, and ends with/m),
    ]);
    door.pass();
    await step.post();
    expect(lives()).toBe(0);
  });

  it("renews while the job runs, until its last part", async () => {
    const step = await open("test", { ttl: "60s" });
    const renewals: string[] = [];
    door.answer(({ url }) => {
      if (url.endsWith("/renew")) renewals.push(url);
      return undefined;
    });
    await step.main();
    const { renewing } = await step.told("state");
    const until = Date.now() + 60_000;
    while (renewals.length === 0 && Date.now() < until) await sleep(500);
    expect(renewals).toHaveLength(1);
    expect((await step.post()).code).toBe(0);
    expect(await stateOf(renewing ?? "")).toMatch(/^(gone|Z)$/);
    expect(lives()).toBe(0);
  });

  it.each([
    [null, /This runner's address is unknown\. Say who may reach/],
    ["2001:db8::7", /This runner's address is 2001:db8::7, and the machine is reached by IPv4\. Say who/],
  ])("wants `cidr` where mayfly sees the runner at %s, and makes nothing", async (address, sentence) => {
    door.answer(({ url }) =>
      url.endsWith("/v1/whoami") ? Response.json({ whoami: { address, policy: { only_profiles: false } } }) : undefined,
    );
    const step = await open("test", { cidr: "" });
    expect(await step.main()).toMatchObject({ code: 1, log: expect.stringMatching(sentence) as unknown });
    expect(lives()).toBe(0);
  });

  it("killed before it has kept anything has nothing to end", async () => {
    const step = await open();
    expect(await step.post()).toMatchObject({ code: 0, log: "" });
    expect(lives()).toBe(0);
  });

  it("renews no more once its runner is gone, and its lease ends the machine", async () => {
    const step = await open("test", { ttl: "60s" });
    // Between this test and the step, as a runner is: a shell that is killed.
    const runner = step.beginUnderRunner();
    let renewing = "";
    while (renewing === "") {
      await sleep(100);
      renewing = (await step.told("state"))["renewing"] ?? "";
    }
    runner.kill("SIGKILL");
    while (!/^(gone|Z)$/.test(await stateOf(renewing))) await sleep(500);
    expect(lives()).toBe(1);
    await stack.tick(Date.now() + 120_000);
    expect(lives()).toBe(0);
  });

  it.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
    [
      "a fork's job has no token",
      {},
      { ACTIONS_ID_TOKEN_REQUEST_URL: "" },
      /permissions: id-token: write.* from a fork never/,
    ],
    ["the forge refuses", {}, { ACTIONS_ID_TOKEN_REQUEST_TOKEN: "other" }, /GitHub signs no token for this job: 401/],
    [
      "no policy takes the job",
      { audience: "another" },
      {},
      /mayfly answered 401 unauthorized: This token is made for somebody else/,
    ],
    [
      "a type is unknown",
      { server_type: "cx1" },
      {},
      /mayfly answered 422 invalid_input: `server_type` must be one of/,
    ],
    ["ttl is no length", { ttl: "90" }, {}, /`ttl` must be a whole number and a unit/],
    ["url has no TLS", { url: "http://mayfly.example" }, {}, /`url` must begin with https/],
  ])("fails in one sentence where %s, and leaves nothing", async (_why, inputs, env, sentence) => {
    const step = await open("test", inputs, env);
    const { code, log } = await step.main();
    expect([code, log]).toEqual([1, expect.stringMatching(sentence)]);
    expect(log.split("\n").filter((line) => line.startsWith("::error::"))).toHaveLength(1);
    expect((await step.post()).code).toBe(0);
    expect(lives()).toBe(0);
  });
});
