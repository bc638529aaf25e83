import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { AUDIENCE, createIssuer, githubClaims, type TestIssuer } from "../auth/issuer.ts";
import { ROOT } from "./npm-start.ts";

const execute = promisify(execFile);
const said = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });
const machineOf = z.object({ machine: z.object({ public_ipv4: z.ipv4(), status: z.string() }) });
/** What the runner itself must show to be given a token. */
const RUNNER = "runner-token-of-this-test";

describe("docs/how-to/keyless-ci.md, at GitHub", () => {
  let folder: string;
  let server: SimulatorServer;
  let issuer: TestIssuer;
  let stack: Stack;
  let page: string;

  /** The forge: gives tokens to its runners for whom they name, and its keys to everybody. */
  async function serve(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/token") return issuer.fetch(request);
    if (request.headers.get("Authorization") !== `Bearer ${RUNNER}`)
      return Response.json({ message: "no such runner" }, { status: 401 });
    return Response.json({ value: await issuer.sign(githubClaims({ aud: searchParams.get("audience") }), Date.now()) });
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "mayfly-ci-"));
    page = await readFile(join(ROOT, "docs/how-to/keyless-ci.md"), "utf8");
    await writeFile(join(folder, "mayfly.sh"), /```bash\n(.*?)```/s.exec(page)?.[1] ?? "");
    server = await serveSimulator({ fetch: serve }, 0);
    issuer = await createIssuer({ url: server.url });
    stack = await startStack({
      settings: {
        ADMIN_TOKEN: "e2e-admin",
        HCLOUD_TOKEN: "e2e-hcloud",
        INSTALLATION: "local",
        OIDC_AUDIENCE: AUDIENCE,
        ISSUERS: JSON.stringify([{ name: "forge", url: server.url, kind: "github" }]),
        POLICIES: JSON.stringify([{ name: "ci", issuer: "forge", claims: { repository_id: "74" } }]),
        PROFILES: "{}",
      },
    });
  });
  afterAll(async () => {
    await stack.stop();
    await server.close();
    await rm(folder, { recursive: true });
  });

  /** Runs a script as a step of the workflow is run. */
  async function step(script: string, settings: Record<string, string> = {}) {
    const env = {
      PATH: process.env["PATH"],
      MAYFLY: stack.url,
      AUDIENCE,
      NAME: "test-9001-1",
      RUNNER_TEMP: folder,
      ACTIONS_ID_TOKEN_REQUEST_URL: `${server.url}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: RUNNER,
      ...settings,
    };
    try {
      return {
        code: 0,
        ...(await execute("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], { cwd: folder, env })),
      };
    } catch (error) {
      return said.parse(error);
    }
  }

  it("gets a machine that takes in its key, at an address that it learns, and ends it", async () => {
    const lines = /name: A machine\n +run: \|\n(.*?) +ssh=/s.exec(page)?.[1] ?? "";
    const made = await step(lines.replaceAll(".github/", ""));
    expect({ code: made.code, stderr: made.stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^::add-mask::eyJ[\w.-]+\n$/) as unknown,
    });
    const { machine } = machineOf.parse(JSON.parse(made.stdout));
    expect(machine.status).toBe("running");
    const { servers, firewalls, ssh_keys: keys } = stack.simulator?.controls.state() ?? {};
    expect(servers).toHaveLength(1);
    expect(firewalls).toMatchObject([{ rules: [{ direction: "in", port: "22" }] }]);
    const publicKey = await readFile(join(folder, "key.pub"), "utf8");
    expect(keys).toMatchObject([{ public_key: expect.stringContaining(publicKey.split(" ")[1] ?? "-") as unknown }]);
    const ended = /always\(\)\n +run: (.*)\n/.exec(page)?.[1] ?? "";
    expect((await step(ended.replaceAll(".github/", ""))).code).toBe(0);
    expect(stack.simulator?.controls.state().servers).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["the job may not ask for one", { ACTIONS_ID_TOKEN_REQUEST_URL: "" }, /needs permissions: id-token: write/],
    ["the forge refuses", { ACTIONS_ID_TOKEN_REQUEST_TOKEN: "other" }, /GitHub gives no token: .*no such runner/],
  ])("says why it has no token where %s, and fails", async (_why, settings, sentence) => {
    const { code, stderr } = await step("bash mayfly.sh GET /v1/whoami | jq .", settings);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(sentence);
  });

  it("shows what mayfly says, where that refuses", async () => {
    const { code, stdout } = await step("bash mayfly.sh GET /v1/whoami", { AUDIENCE: "other" });
    expect(code).not.toBe(0);
    expect(stdout).toContain("`aud` must be mayfly");
  });
});
