import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { loadConfiguration } from "../../scripts/configuration.ts";
import { issuerEntry } from "../../src/auth/issuers.ts";
import { policyEntry } from "../../src/auth/policy.ts";
import { readDeployment } from "../../src/deployment.ts";
import { makeCopy, type Copy } from "./copy.ts";
import { npmStart, ROOT, type Started } from "./npm-start.ts";

const execute = promisify(execFile);
const said = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });
const lifeOf = z.object({ created_at: z.string(), expires_at: z.string() });
const CLOUD_INIT = "#cloud-config\nruncmd: [echo from-a-file]\n";
const WITH_A_FILE = `import { defineConfig } from "./src/deployment.ts";
import small from "./profiles/small.yaml";

export default defineConfig({
  profiles: { small: { server_type: "cx23", region: "fsn1", cloud_init: small } },
});
`;
const USELESS = `import { defineConfig } from "./src/deployment.ts";
export default defineConfig({
  policies: [{ name: "ci", issuer: "github", claims: { repository_id: "12*" } }],
});
`;
const SENTENCE = "policies.ci.claims.repository_id must be spelt out, without `*`";

describe("mayfly.config.ts", () => {
  let copy: Copy;
  let started: Started | undefined;
  beforeAll(async () => {
    copy = await makeCopy();
    await copy.write("profiles/small.yaml", CLOUD_INIT);
  });
  afterEach(async () => {
    await started?.clear();
    started = undefined;
  });
  afterAll(() => copy.remove());

  /** Runs a program of the copy; answers how it ended and all that it said. */
  async function run(program: string, ...args: string[]): Promise<{ code: number; output: string }> {
    const secrets = { HCLOUD_TOKEN: "-", ADMIN_TOKEN: "-", INSTALLATION: "-" };
    const env = { ...process.env, ...secrets, WRANGLER_SEND_METRICS: "false" };
    try {
      const { stdout, stderr } = await execute(program, args, { cwd: copy.path, env });
      return { code: 0, output: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = said.parse(error);
      return { code, output: stdout + stderr };
    }
  }
  const deploy = () => run("npx", "--no-install", "wrangler", "deploy", "--dry-run", "--outdir", "dist");

  describe("with a profile whose cloud-init stands in a file of its own", () => {
    beforeAll(() => copy.write("mayfly.config.ts", WITH_A_FILE));

    it("passes the check and the types", async () => {
      expect(await run("npm", "run", "-s", "configuration")).toEqual({
        code: 0,
        output: "configuration: 0 policies, 1 profile\n",
      });
      expect(await run("npx", "--no-install", "tsc", "--noEmit")).toEqual({ code: 0, output: "" });
    });

    it("is deployed with that file's text", async () => {
      expect((await deploy()).code).toBe(0);
      const files = await readdir(join(copy.path, "dist"));
      const texts = await Promise.all(files.map((file) => readFile(join(copy.path, "dist", file), "utf8")));
      expect(texts.filter((text) => text === CLOUD_INIT)).toHaveLength(1);
    });

    it("is served by npm start: the machine gets that text", async () => {
      started = await npmStart({ CRON: "off", ADMIN_TOKEN: "admin-of-this-test" }, copy.path);
      const answer = await fetch(`${started.url}/v1/machines/a`, {
        method: "PUT",
        headers: { Authorization: "Bearer admin-of-this-test" },
        body: JSON.stringify({ profile: "small" }),
      });
      expect(answer.status).toBe(201);
      const state: unknown = await (await fetch(`${started.simUrl}/_sim/state`)).json();
      expect(state).toMatchObject({ servers: [{ user_data: CLOUD_INIT }] });
    });
  });

  describe("that cannot be used", () => {
    beforeAll(() => copy.write("mayfly.config.ts", USELESS));

    it("fails the check by the entry, the key and the rule", async () => {
      expect(await run("npm", "run", "-s", "configuration")).toEqual({ code: 1, output: `${SENTENCE}\n` });
      const check = await run("npm", "run", "check");
      expect(check.code).toBe(1);
      expect(check.output).toContain(SENTENCE);
    });

    it("is not deployed", async () => {
      const { code, output } = await deploy();
      expect(code).toBe(1);
      expect(output).toContain(SENTENCE);
    });

    it("keeps npm start from starting", async () => {
      await expect(npmStart({ OIDC_AUDIENCE: "mayfly" }, copy.path)).rejects.toThrow(SENTENCE);
    });
  });

  describe("as docs/how-to/policies.md shows it", () => {
    it("can be used, and passes the types", async () => {
      const { examples, cloudInit } = await readPage();
      expect(examples.length).toBeGreaterThan(1);
      await copy.write("profiles/small.yaml", cloudInit);
      for (const [index, text] of examples.entries()) {
        const file = `example-${index}.config.ts`;
        await copy.write(file, text);
        const deployment = readDeployment(await loadConfiguration(join(copy.path, file)), false);
        expect(deployment.policies.length).toBeGreaterThan(0);
      }
      await copy.write(
        "mayfly.config.ts",
        [...examples.keys()].map((index) => `import "./example-${index}.config.ts";\n`).join("") +
          "export default {};\n",
      );
      expect(await run("npx", "--no-install", "tsc", "--noEmit")).toEqual({ code: 0, output: "" });
    });

    it("has every field in its tables, and no other", async () => {
      const { fields } = await readPage();
      expect(fields).toEqual([
        Object.keys(policyEntry.shape).toSorted(),
        Object.keys(issuerEntry(false).shape).toSorted(),
      ]);
    });
  });

  describe("whose policies need a setting beside it", () => {
    const TAKES = `export default { policies: [{ name: "ci", issuer: "github", claims: { repository_id: "12" } }] };\n`;
    const MISSING =
      "OIDC_AUDIENCE must be set, as [vars] in wrangler.toml: there is a policy for tokens of an issuer, and whom those must be made for is not said\n";
    const READ = { code: 0, output: "configuration: 1 policy, 0 profiles\n" };
    const check = () => run("npm", "run", "-s", "configuration");
    beforeEach(() => copy.write("mayfly.config.ts", TAKES));
    afterEach(() => copy.writeVars(""));

    it("fails the check and is not deployed without it: the Worker would answer nothing else", async () => {
      expect(await check()).toEqual({ code: 1, output: MISSING });
      const { code, output } = await deploy();
      expect(code).toBe(1);
      expect(output).toContain(MISSING.trim());
      await copy.writeVars('OIDC_AUDIENCE = ""');
      expect(await check()).toEqual({ code: 1, output: MISSING });
    });

    it("passes with it in wrangler.toml, or told by name where it is set elsewhere", async () => {
      expect(await run("env", "OIDC_AUDIENCE=mayfly", "npm", "run", "-s", "configuration")).toEqual(READ);
      await copy.writeVars('OIDC_AUDIENCE = "mayfly"');
      expect(await check()).toEqual(READ);
    });

    it("fails for what is set and cannot be used, needed or not", async () => {
      await copy.writeVars('OIDC_AUDIENCE = "may fly"');
      const failure = { code: 1, output: expect.stringMatching(/^OIDC_AUDIENCE must be 1 to 255 /) as unknown };
      expect(await check()).toEqual(failure);
      await copy.write("mayfly.config.ts", "export default {};\n");
      expect(await check()).toEqual(failure);
      await copy.writeVars('MAX_AGE = "long"');
      expect(await check()).toEqual({ code: 1, output: expect.stringMatching(/^MAX_AGE must be /) as unknown });
    });

    it("tells of lengths that are more than MAX_AGE lets come true", async () => {
      const policies = `[{ name: "a", longest: "2h" }, { name: "b", longest: "1h" }]`;
      const profiles = `{ c: { ttl: "61m" }, d: { ttl: "60m" }, e: {} }`;
      await copy.write("mayfly.config.ts", `export default { policies: ${policies}, profiles: ${profiles} };\n`);
      await copy.writeVars('MAX_AGE = "1h"');
      expect(await check()).toEqual({
        code: 0,
        output: `configuration: 2 policies, 3 profiles
note: policies.a.longest is longer than MAX_AGE, which is 1h: no machine lives so long
note: profiles.c.ttl is longer than MAX_AGE, which is 1h: whoever names no other ttl is refused
`,
      });
    });

    it("is served by npm start with the settings of wrangler.toml; those of the environment go first", async () => {
      await copy.writeVars('OIDC_AUDIENCE = "mayfly"\nMAX_AGE = "2h"\nDEFAULT_TTL = "90m"');
      started = await npmStart({ CRON: "off", ADMIN_TOKEN: "admin-of-this-test", DEFAULT_TTL: "30m" }, copy.path);
      const headers = { Authorization: "Bearer admin-of-this-test" };
      const whoami: unknown = await (await fetch(`${started.url}/v1/whoami`, { headers })).json();
      expect(whoami).toMatchObject({ whoami: { policy: { longest: "2h" } } });
      const asked = { method: "PUT", headers, body: '{"server_type":"cx23","region":"fsn1"}' };
      const answer = await fetch(`${started.url}/v1/machines/a`, asked);
      const { machine } = z.object({ machine: lifeOf }).parse(await answer.json());
      const minutes = (Date.parse(machine.expires_at) - Date.parse(machine.created_at)) / 60_000;
      expect(Math.round(minutes)).toBe(30);
      expect(started.output).toMatch(/^ {2}policies {5}ci$/m);
    });

    it("keeps npm start from starting where wrangler.toml has what cannot be used, and says where it stands", async () => {
      await copy.writeVars('OIDC_AUDIENCE = "mayfly"\nMAX_AGE = "long"');
      await expect(npmStart({}, copy.path)).rejects.toThrow(/MAX_AGE must be .* \(\[vars\] in wrangler\.toml\)/);
    });
  });

  it("is left as its owner writes it: neither it nor its profiles need the format of the rest", async () => {
    await copy.write("mayfly.config.ts", "export default {policies:[{name:'a'}],}\n");
    await copy.write("profiles/other.yaml", "#cloud-config\nruncmd:   [ 'a' ]\n");
    await copy.write("profiles/other.ts", "export const a = {b:'c'}\n");
    expect((await run("npx", "--no-install", "oxfmt", "--check", "mayfly.config.ts", "profiles")).output).not.toContain(
      "Format issues",
    );
  });

  it.each([
    [
      "has no default export",
      "export const policies = [];\n",
      "other.config.ts must have a default export: what defineConfig is given",
    ],
    ["exports no object", "export default 7;\n", "other.config.ts must export an object: what defineConfig is given"],
    ["exports a list", "export default [];\n", "other.config.ts must export an object: what defineConfig is given"],
    ["cannot be read", "export default {\n", "other.config.ts:2:0: ERROR"],
    ["throws", 'throw new Error("no such day");\n', "other.config.ts cannot be run: no such day"],
    [
      "misses a file",
      'import a from "./a.yaml";\nexport default { profiles: { a: { cloud_init: a } } };\n',
      "./a.yaml",
    ],
  ])("that %s fails the check, in a few lines", async (_what, text, sentence) => {
    await copy.write("other.config.ts", text);
    const { code, output } = await run("npm", "run", "-s", "configuration", "--", "other.config.ts");
    expect(code).toBe(1);
    expect(output).toContain(sentence);
    expect(output.trim().split("\n").length).toBeLessThan(4);
  });

  it("with a misspelt key does not pass the types", async () => {
    await copy.write("mayfly.config.ts", USELESS.replace("claims", "claim"));
    const { code, output } = await run("npx", "--no-install", "tsc", "--noEmit");
    expect(code).not.toBe(0);
    expect(output).toContain("mayfly.config.ts");
  });
});

/** What the page shows: whole files, the cloud-init that one of them imports, and the fields that its tables name. */
async function readPage() {
  const page = await readFile(join(ROOT, "docs/how-to/policies.md"), "utf8");
  const blocks = (language: string) =>
    [...page.matchAll(new RegExp("```" + language + "\\n(.*?)```", "gs"))].map(([, text]) => text ?? "");
  const tables = page.split("\n\n").filter((part) => part.startsWith("| Field |"));
  return {
    examples: blocks("ts"),
    cloudInit: blocks("yaml")[0] ?? "",
    fields: tables.map((table) =>
      table
        .split("\n")
        .slice(2)
        .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, field]) => field ?? ""))
        .toSorted(),
    ),
  };
}
