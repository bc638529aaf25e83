import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { makeCopy, type Copy } from "./copy.ts";
import { ROOT } from "./npm-start.ts";

const execute = promisify(execFile);
const failed = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });
const GITHUB = "https://token.actions.githubusercontent.com";
const USAGE = "usage: npm run -s policy -- <claims.json | ->\n";
const CLAIMS = {
  iss: GITHUB,
  aud: "mayfly",
  repository_id: "712",
  repository_owner_id: "9",
  run_id: "55",
  ref: "refs/heads/next",
  event_name: "push",
};
const POLICIES = [
  { name: "main", issuer: "github", claims: { repository_id: 712, ref: ["refs/heads/main", "refs/tags/*"] } },
  { name: "run", issuer: "github", claims: { repository_id: 712 } },
  { name: "wide", issuer: "github", claims: { repository_owner_id: 9 }, owner: "repository", account: "policy" },
  { name: "lab", issuer: "gitlab", claims: { project_id: 3 } },
  { name: "default" },
];

/** Has the form of one. */
const MINTED = `mayfly_${"canary".repeat(9)}aaaaa`;

/** A JWT of no worth: what signs it is not looked at. */
const tokenOf = (claims: object): string =>
  [{ alg: "RS256" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".") + ".c2ln";

describe("npm run policy", () => {
  let copy: Copy;
  beforeAll(async () => {
    copy = await makeCopy();
  });
  afterAll(() => copy.remove());

  async function run(args: readonly string[], settings: Record<string, string> = {}, input = "") {
    const env = { ...process.env, OIDC_AUDIENCE: "mayfly", POLICIES: JSON.stringify(POLICIES), ...settings };
    const running = execute("npm", ["run", "-s", "policy", "--", ...args], { cwd: copy.path, env });
    running.child.stdin?.end(input);
    try {
      return { code: 0, ...(await running) };
    } catch (error) {
      return failed.parse(error);
    }
  }
  async function fileOf(text: string): Promise<string> {
    await copy.write("claims.json", text);
    return join(copy.path, "claims.json");
  }
  const judge = async (claims: object, settings?: Record<string, string>) =>
    run([await fileOf(JSON.stringify(claims))], settings);

  it("tells which policy takes the claims, whose what it makes would be, and why each other does not", async () => {
    expect(await judge(CLAIMS)).toEqual({
      code: 0,
      stdout: `claims:
  iss: ${GITHUB}
  aud: mayfly
  repository_id: 712
  repository_owner_id: 9
  ref: refs/heads/next
  event_name: push
  run_id: 55
policies for github:
  main: \`ref\` is refs/heads/next, and must be one of refs/heads/main, refs/tags/*
  run: fits
  wide: fits, but run comes first
  lab: not for github, but for gitlab
  default: not for github, but for minted tokens
yes: policy run, owner gh.712.55, account gh.712
`,
      stderr: "",
    });
  });

  it("tells the owner and the account that the policy says", async () => {
    const { code, stdout } = await judge({ ...CLAIMS, repository_id: "713" });
    expect(code).toBe(0);
    expect(stdout).toContain("main: `repository_id` is 713, and must be 712\n");
    expect(stdout).toContain("yes: policy wide, owner gh.713.wide, account pol.wide\n");
  });

  it("ends with 1 where none takes them", async () => {
    const { code, stdout } = await judge({ ...CLAIMS, repository_id: "1", repository_owner_id: "2" });
    expect(code).toBe(1);
    expect(stdout).toContain("wide: `repository_owner_id` is 2, and must be 9\n");
    expect(stdout).toMatch(/^no: No policy fits this token/m);
    expect(stdout).not.toContain("fits\n");
  });

  it("takes the claims that docs/how-to/policies.md shows, as they stand there", async () => {
    const page = await readFile(join(ROOT, "docs/how-to/policies.md"), "utf8");
    const shown = /```json\n(.*?)```/s.exec(page)?.[1] ?? "";
    const { claims } = z.object({ claims: z.record(z.string(), z.string()) }).parse(JSON.parse(shown));
    const main = { name: "main", issuer: "github", claims: { repository_id: "712345678", ref: "refs/heads/main" } };
    const { code, stdout } = await judge(claims, { POLICIES: JSON.stringify([main]) });
    expect(code).toBe(1);
    expect(stdout).toContain("  main: `ref` is refs/heads/next, and must be refs/heads/main\n");
  });

  it("ends with 1 where nothing would be whose claims are too few to keep machines under", async () => {
    const { run_id: _none, ...claims } = CLAIMS;
    const { code, stdout } = await judge(claims);
    expect(code).toBe(1);
    expect(stdout).toContain("no: The claim `run_id` of this token is missing.");
  });

  it("ends with 1 for an issuer that is not there, and names those that are", async () => {
    const { code, stdout } = await judge({ ...CLAIMS, iss: "https://forge.example" });
    expect(code).toBe(1);
    expect(stdout).toContain("claims:\n  iss: https://forge.example\n  aud: mayfly\n  repository_id: 712\n");
    expect(stdout.slice(stdout.indexOf("no: "))).toBe(`no: no issuer has this \`iss\` as its url
  github has ${GITHUB}
  gitlab has https://gitlab.com
`);
  });

  it("knows the issuers that the environment gives", async () => {
    const { code, stdout } = await judge(
      { iss: "https://forge.example", sub: "a/b" },
      {
        ISSUERS: JSON.stringify([{ name: "forge", url: "https://forge.example", id_claim: "sub" }]),
        POLICIES: JSON.stringify([{ name: "forges", issuer: "forge", claims: { sub: "a/b" } }]),
      },
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^yes: policy forges, owner (id\.[0-9a-f]{8}\.[0-9a-f]{32}), account \1$/m);
  });

  it("reads mayfly.config.ts where the environment says nothing", async () => {
    const { code, stdout } = await judge(CLAIMS, { POLICIES: "" });
    expect(code).toBe(1);
    expect(stdout).toContain("no: No policy takes tokens of github.");
    expect(stdout).toContain("claims:\n");
    expect(stdout).toContain("  repository_id: 712\n");
  });

  it.each([
    ["standard input", () => run(["-"], {}, `${tokenOf(CLAIMS)}\n`)],
    ["a file", async () => run([await fileOf(tokenOf(CLAIMS))])],
  ])("takes a token from %s, and says that it does not verify it", async (_where, judged) => {
    const { code, stdout, stderr } = await judged();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^a token: decoded, not verified$/m);
    expect(stdout).toContain("yes: policy run");
  });

  it("takes claims from standard input", async () => {
    const { code, stdout } = await run(["-"], {}, JSON.stringify(CLAIMS));
    expect(code).toBe(0);
    expect(stdout).not.toContain("decoded");
  });

  it("ends with 1 for a token that is made for somebody else, whatever the policies say", async () => {
    const { code, stdout } = await judge(CLAIMS, { OIDC_AUDIENCE: "other" });
    expect(code).toBe(1);
    expect(stdout).toContain("  run: fits\n");
    expect(stdout).toContain("no: a token of github must be made for other (`aud`)\n");
    expect(stdout).not.toContain("yes:");
    const { aud: _none, ...claims } = CLAIMS;
    expect((await judge(claims, { OIDC_AUDIENCE: "other" })).code).toBe(0);
  });

  it("knows for whom tokens must be made from wrangler.toml, too, and says where nobody does", async () => {
    const unknown = await judge(CLAIMS, { OIDC_AUDIENCE: "" });
    expect(unknown.code).toBe(0);
    expect(unknown.stdout).toContain(
      "for whom it is made is not judged: OIDC_AUDIENCE is set neither in wrangler.toml",
    );
    await copy.writeVars('OIDC_AUDIENCE = "other"');
    expect((await judge(CLAIMS, { OIDC_AUDIENCE: "" })).stdout).toContain("must be made for other");
    expect((await judge(CLAIMS)).code).toBe(0);
    await copy.writeVars("");
  });

  it("shows a terminal nothing that it would obey", async () => {
    const { stdout } = await judge({ ...CLAIMS, ref: "refs/heads/\u001B[2J\u009B1m\n" });
    expect(stdout).toContain("`ref` is refs/heads/\uFFFD[2J\uFFFD1m\uFFFD, and");
  });

  it.each([["--help"], ["-h"]])("explains itself: %s", async (flag) => {
    const { code, stdout, stderr } = await run([flag]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(USAGE);
    expect(stdout).toContain(
      "Exit code: 0 = a policy takes it, 1 = it would be refused, 2 = the input cannot be used.",
    );
  });

  it.each([
    ["nothing", [], "one thing must be given"],
    ["two things", ["a", "b"], "one thing must be given"],
    ["a file that is not there", ["/nowhere/canary.json"], "there is no such file"],
    ["a token that all can see", [tokenOf({ iss: "canary" })], "a token goes to standard input"],
    ["a minted token that all can see", [MINTED], "a token goes to standard input"],
    ["a minted token", ["-"], "a minted token says nothing by itself: GET /v1/whoami with it tells", MINTED],
    ["a token that is none", ["-"], "standard input: the token cannot be decoded", "eyJjYW5hcnk.e.canary"],
    ["a token without an issuer", ["-"], "standard input: `iss` must be there", tokenOf({ sub: "canary" })],
    ["an empty input", ["-"], "standard input has neither a token nor JSON"],
  ])("ends with 2 and the usage for %s, which it does not repeat", async (_what, args, sentence, input = "") => {
    const { code, stdout, stderr } = await run(args, {}, input);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(sentence);
    expect(stderr).toContain(USAGE);
    expect(stderr).not.toContain("canary");
  });

  it.each([
    ["[", "has neither a token nor JSON"],
    ["7", "must be a JSON object of claims"],
    ['{"iss": ["canary"]}', "`iss` must be there"],
  ])("ends with 2 for a file that says %s", async (text, sentence) => {
    const { code, stderr } = await run([await fileOf(text)]);
    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain("canary");
  });

  it("ends with 2 for policies that cannot be used, by the same sentence as elsewhere", async () => {
    const { code, stderr } = await judge(CLAIMS, { POLICIES: '[{"name": "ci", "issuer": "nobody"}]' });
    expect({ code, stderr }).toEqual({ code: 2, stderr: "policies.ci.issuer must be one of github, gitlab\n" });
  });
});
