import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { loadConfiguration } from "../../scripts/configuration.ts";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { verifyDeployment } from "../../src/deployment.ts";
import { ROOT } from "./npm-start.ts";

const execute = promisify(execFile);
const pageOf = (name: string): Promise<string> => readFile(join(ROOT, `docs/how-to/${name}.md`), "utf8");
const blockIn = (page: string, language: string): string =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "s").exec(page)?.[1] ?? "";
const parts = z.looseObject({ profiles: z.unknown(), policies: z.unknown(), hooks: z.unknown() });

/** What a page's first block says, read as mayfly.config.ts at the top would be. */
async function configurationIn(page: string) {
  const folder = await mkdtemp(join(ROOT, ".wrangler-docs-"));
  try {
    const file = join(folder, "mayfly.config.ts");
    await writeFile(file, blockIn(page, "ts").replace("./src/", "../src/"));
    return parts.parse(await loadConfiguration(file));
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("docs/how-to/pull-request-environments.md", () => {
  it("has a configuration that can be used, whose hook is nine lines", async () => {
    const page = await pageOf("pull-request-environments");
    const { hooks } = await verifyDeployment(await configurationIn(page), false);
    expect(hooks.get("preview")?.rules).toHaveLength(2);
    const lines = /\n( {2}hooks: \{\n.*?\n {2}\},)\n/s.exec(blockIn(page, "ts"))?.[1]?.split("\n");
    expect(lines).toHaveLength(9);
  });
});

describe("docs/how-to/any-sender.md", () => {
  let stack: Stack;
  let script: string;
  const secret = `whsec_${Buffer.from("a-secret-of-this-end-to-end-test").toString("base64")}`;

  beforeAll(async () => {
    const page = await pageOf("any-sender");
    script = blockIn(page, "bash");
    const { profiles, policies, hooks } = await configurationIn(page);
    stack = await startStack({
      settings: {
        ADMIN_TOKEN: "e2e-admin",
        HCLOUD_TOKEN: "e2e-hcloud",
        INSTALLATION: "local",
        PROFILES: JSON.stringify(profiles),
        POLICIES: JSON.stringify(policies),
        HOOKS: JSON.stringify(hooks),
        HOOK_BOXES: secret,
      },
    });
  });
  afterAll(() => stack.stop());

  const run = (lines: string, key = secret) =>
    execute("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", lines], {
      env: { PATH: process.env["PATH"], MAYFLY: stack.url, HOOK_BOXES: key },
    });
  const linesOf = (...kinds: string[]): string => {
    const [send = "", ...calls] = script.split(/\n(?=send ')/);
    return [send, ...calls.filter((call) => kinds.some((kind) => call.includes(`machine.${kind}`)))].join("\n");
  };
  const states = async (): Promise<unknown> => {
    const headers = { Authorization: "Bearer e2e-admin" };
    return (await fetch(`${stack.url}/v1/hooks`, { headers })).json();
  };

  it("its lines make a machine, renew it and end it", async () => {
    const made = await run(linesOf("create", "renew"));
    expect(made.stdout).toMatch(/"did":\[\{"rule":null,"do":"create","name":"box","machine":null\}\]/);
    await expect.poll(() => stack.simulator?.controls.state().servers.length).toBe(1);
    await run(linesOf("destroy"));
    await expect.poll(() => stack.simulator?.controls.state().servers.length).toBe(0);
    expect(JSON.stringify(await states())).not.toContain('"state":"refused"');
  });

  it("under another secret it is refused", async () => {
    const other = `whsec_${Buffer.from("b-secret-of-this-end-to-end-test").toString("base64")}`;
    await expect(run(linesOf("create"), other)).rejects.toMatchObject({
      stdout: expect.stringContaining('"code":"unauthorized"') as unknown,
    });
  });
});
