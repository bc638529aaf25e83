import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { readArguments } from "../../scripts/deploy/arguments.ts";
import { deploy as carryOut } from "../../scripts/deploy/run.ts";
import type { Terminal } from "../../scripts/deploy/terminal.ts";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { openAccount, type CloudflareAccount, type Said } from "./cloudflare-account.ts";
import type { Account } from "./fake-wrangler.ts";

const TOKEN = "Zx81kQpLm3Vt6RwYb2Nc5Hd7Js9Gf4Ka0Eu1Ti8Oq3Pz6Xv2Cm5Bn7Ld9Sw4Ry0";
const LAST = "0025_spec_fields.sql";
/** util-linux lends a terminal to a program that has none. */
const HAS_TERMINAL = process.platform === "linux" && existsSync("/usr/bin/script");
if (!HAS_TERMINAL) console.log("skipped: no script(1) here, so npm run deploy is not tried on a terminal");
/** As in CI. */
const NOBODY: Terminal = {
  isThere: false,
  confirm: () => Promise.reject(new Error("nobody is there to ask")),
  secret: () => Promise.reject(new Error("nobody is there to ask")),
};
const secretsFile = z.record(z.string(), z.string());

describe("npm run deploy", () => {
  let stack: Stack;
  let ticking: NodeJS.Timeout;
  let cloudflare: CloudflareAccount;
  /** What it is told of itself: where Hetzner is, and the token. */
  const given = (more: Record<string, string> = {}) => ({
    HCLOUD_ENDPOINT: `${stack.simulator?.url}/v1`,
    HCLOUD_TOKEN: TOKEN,
    ...more,
  });
  /** As the program does it, in this process: another one takes seconds to begin. */
  async function deploy(args: readonly string[] = ["--yes"], env = given()): Promise<Said> {
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(`${line}\n`);
    const around = { fetch, now: () => Date.now(), say, terminal: NOBODY, env: cloudflare.environment(env) };
    try {
      const code = await carryOut(readArguments(args), { ...around, root: cloudflare.copy.path });
      return { code, output: lines.join("") };
    } catch (error) {
      return { code: 1, output: `${lines.join("")}${error instanceof Error ? error.message : String(error)}\n` };
    }
  }
  const changing = async () =>
    (await cloudflare.calls())
      .map(({ command }) => command.split(" --tag")[0] ?? "")
      .filter((command) => /^(deploy|d1 create|d1 migrations apply|secret (put|bulk|delete))/.test(command));
  const kept = async () =>
    secretsFile.parse(JSON.parse(await readFile(join(cloudflare.copy.path, "secrets.json"), "utf8")));
  const keys = () => stack.simulator?.controls.state().ssh_keys ?? [];
  /** Nothing that is secret may be seen, nor stand where everybody on the machine can read it. */
  const expectSecrecy = async (output: string, more: readonly string[] = []) => {
    for (const secret of [TOKEN, ...more]) expect(output).not.toContain(secret);
    for (const { command, given: named } of await cloudflare.calls()) {
      for (const secret of [TOKEN, ...more]) expect(command).not.toContain(secret);
      expect(named).toEqual([]);
    }
  };

  beforeAll(async () => {
    const NOTHING = { POLICIES: "[]", PROFILES: "{}", ISSUERS: "[]" };
    stack = await startStack({
      settings: { ADMIN_TOKEN: "e2e-admin", HCLOUD_TOKEN: "e2e-hcloud", INSTALLATION: "local", ...NOTHING },
    });
    ticking = setInterval(() => void stack.tick(Date.now()), 1000);
    cloudflare = await openAccount();
  });
  beforeEach(() => cloudflare.reset({ url: stack.url }));
  afterEach(() => stack.simulator?.controls.clearFaults());
  afterAll(async () => {
    clearInterval(ticking);
    await stack.stop();
    await cloudflare.remove();
  });

  it("makes all of it from nothing, the schema before the code, and a second run changes nothing", async () => {
    const first = await cloudflare.run("scripts/deploy.ts", ["--yes"], given());
    expect(first).toMatchObject({ code: 0 });
    expect(first.output).toMatch(/^This will:\n {2}1\. make ADMIN_TOKEN, INSTALLATION, /m);
    expect(await changing()).toEqual(["d1 create mayfly", "d1 migrations apply mayfly --remote", "deploy"]);
    const { secrets, tags, applied } = await cloudflare.see();
    expect([tags.length, applied.at(-1)]).toEqual([1, LAST]);
    expect(secrets).toEqual({
      HCLOUD_TOKEN: TOKEN,
      INSTALLATION: expect.stringMatching(/^[a-z2-7]{26}$/) as unknown,
      ADMIN_TOKEN: expect.stringMatching(/^.{32,}$/) as unknown,
    });
    // What cannot be asked for again waits in a file, and not in a log.
    const { HCLOUD_TOKEN: _given, ...made } = secrets ?? {};
    expect(await kept()).toEqual(made);
    expect((await stat(join(cloudflare.copy.path, "secrets.json"))).mode & 0o777).toBe(0o600);
    expect(first.output).toContain("secrets.json has ADMIN_TOKEN, INSTALLATION: put them into your password manager");
    expect(first.output).toContain(`  ${stack.url}\n`);
    await expectSecrecy(first.output, [made["ADMIN_TOKEN"] ?? "-"]);
    expect(keys()).toEqual([]);

    const before = await cloudflare.see();
    const second = await deploy([], given({ HCLOUD_TOKEN: "" }));
    expect(second).toMatchObject({ code: 0, output: expect.stringMatching(/^nothing differs$/m) as unknown });
    expect(await cloudflare.see()).toEqual(before);
    expect(await deploy(["--check"])).toEqual({ code: 0, output: "nothing differs\n" });
  });

  it.each([
    ["d1 create", "before"],
    ["d1 create", "after"],
    ["d1 migrations apply", "before"],
    ["d1 migrations apply", "after"],
    ["deploy --tag", "before"],
    ["deploy --tag", "after"],
    ["d1 list", "before"],
    ["secret list", "before"],
  ] as const)("lost at `%s` %s it was done, and run again, ends the same", async (command, when) => {
    await cloudflare.reset({ url: stack.url, loses: { command, when } });
    const lost = await deploy();
    expect(lost).toMatchObject({ code: 1, output: expect.stringContaining("the connection was lost") as unknown });
    expect(await deploy()).toMatchObject({ code: 0 });
    const { databases, applied, secrets, tags } = await cloudflare.see();
    expect([databases, applied.at(-1), tags.length]).toEqual([["mayfly"], LAST, 1]);
    // Those that were made first are those that hold.
    expect(secrets).toEqual({ ...(await kept()), HCLOUD_TOKEN: TOKEN });
    await expectSecrecy(lost.output);
  });

  it("keeps what is there, and deploys only what differs", async () => {
    const there: Account = {
      databases: ["mayfly"],
      applied: ["0001_machines.sql"],
      secrets: { HCLOUD_TOKEN: "old", ADMIN_TOKEN: "old", INSTALLATION: "old" },
      tags: ["older"],
    };
    await cloudflare.set(there);
    const check = await deploy(["--check"]);
    expect(check).toEqual({
      code: 1,
      output: `to do: migrate the database mayfly: 24 migrations, to ${LAST}\nto do: deploy mayfly (what is deployed differs)\n`,
    });
    expect(await cloudflare.see()).toEqual(there);
    expect(await deploy()).toMatchObject({ code: 0 });
    expect(await cloudflare.see()).toMatchObject({
      secrets: there.secrets,
      tags: ["older", expect.stringMatching(/^mayfly-/)],
    });
    expect((await cloudflare.calls()).map(({ input }) => input).join("")).toBe("");
  });

  it("deploys again where a file differs that is served from a folder in public/", async () => {
    const file = "public/ci/machine.sh";
    await deploy();
    const before = await readFile(join(cloudflare.copy.path, file), "utf8");
    await cloudflare.copy.write(file, `${before}# changed\n`);
    const changed = await deploy(["--check"]);
    await cloudflare.copy.write(file, before);
    expect(changed).toEqual({ code: 1, output: "to do: deploy mayfly (what is deployed differs)\n" });
    expect(await deploy(["--check"])).toEqual({ code: 0, output: "nothing differs\n" });
  });

  it("replaces a secret when it is told to, never INSTALLATION", async () => {
    await deploy();
    const { secrets } = await cloudflare.see();
    expect(await deploy(["--yes", "--replace", "ADMIN_TOKEN"])).toMatchObject({ code: 0 });
    const after = (await cloudflare.see()).secrets;
    expect(after).toEqual({ ...secrets, ADMIN_TOKEN: expect.stringMatching(/^admin-/) as unknown });
    expect(after?.["ADMIN_TOKEN"]).not.toBe(secrets?.["ADMIN_TOKEN"]);
    expect(await deploy(["--replace", "INSTALLATION"])).toMatchObject({
      code: 1,
      output: expect.stringContaining("INSTALLATION is never replaced") as unknown,
    });
  });

  it.each(["before", "after"] as const)(
    "goes on with a replacement that was lost %s it was deployed, and never takes it for the one that holds",
    async (when) => {
      await deploy();
      const old = (await kept())["ADMIN_TOKEN"];
      await cloudflare.order({ url: stack.url, loses: { command: "deploy --tag", when } });
      expect(await deploy(["--yes", "--replace", "ADMIN_TOKEN"])).toMatchObject({ code: 1 });
      const begun = (await kept())["NEW_ADMIN_TOKEN"];
      expect(await kept()).toMatchObject({
        ADMIN_TOKEN: old,
        NEW_ADMIN_TOKEN: expect.stringMatching(/^admin-/) as unknown,
      });
      expect((await deploy()).output).toContain("NEW_ADMIN_TOKEN may not be the one that holds");
      expect(await deploy(["--yes", "--replace", "ADMIN_TOKEN"])).toMatchObject({ code: 0 });
      expect((await cloudflare.see()).secrets?.["ADMIN_TOKEN"]).toBe(begun);
      expect(await kept()).toEqual({ INSTALLATION: expect.any(String) as unknown, ADMIN_TOKEN: begun });
    },
  );

  it("shows its plan and stops where nobody can be asked", async () => {
    const { code, output } = await deploy([]);
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/^This will:\n {2}1\. [^]*\nnothing was done: there is no terminal to ask on/),
    ]);
    expect(await changing()).toEqual([]);
  });

  it.each([
    ["", /^nothing was done: HCLOUD_TOKEN must be set in the environment$/m],
    ["<API token of a Hetzner project>", /^HCLOUD_TOKEN must be what a bearer token can be/m],
    ["test-token", /^HCLOUD_TOKEN is no token of a Hetzner project: it has 10 characters/m],
    ["your-hetzner-api-token-goes-here-0123456789", /: it is made of words, as tests have it$/m],
    ["x".repeat(64), /: it repeats a few characters$/m],
  ])("takes no placeholder for a token: `%s`", async (token, sentence) => {
    const { code, output } = await deploy(["--yes"], given({ HCLOUD_TOKEN: token }));
    expect([code, output]).toEqual([1, expect.stringMatching(sentence)]);
    expect(await changing()).toEqual([]);
  });

  it.each([
    ["is refused", { path: "^/v1/servers$", status: 401, times: 1000 }, "HCLOUD_TOKEN is refused by Hetzner"],
    ["may only read", { method: "POST", path: "^/v1/ssh_keys$", status: 403 }, "HCLOUD_TOKEN may read and not write"],
  ])("deploys nothing with a token that %s", async (_what, fault, sentence) => {
    stack.simulator?.controls.fault(fault);
    const { code, output } = await deploy();
    expect([code, output]).toEqual([1, expect.stringContaining(sentence)]);
    expect(await changing()).toEqual([]);
    expect(keys()).toEqual([]);
  });

  it("leaves no key behind where the answer to its making is lost", async () => {
    stack.simulator?.controls.fault({ method: "POST", path: "^/v1/ssh_keys$", drop: "after" });
    expect(await deploy()).toMatchObject({
      code: 1,
      output: expect.stringContaining("Hetzner cannot be reached") as unknown,
    });
    expect(keys()).toEqual([]);
    expect(await changing()).toEqual([]);
  });

  it("waits no longer than it is told for what does not turn green, and says what to do", async () => {
    await cloudflare.reset({ url: "http://127.0.0.1:9" });
    const { code, output } = await deploy(["--yes", "--wait", "1s"]);
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/^ {2}0 s: cannot be reached [^]* npm run doctor -- http:\/\/127\.0\.0\.1:9$/m),
    ]);
  });

  it.each<[string, Parameters<CloudflareAccount["reset"]>[0], Partial<Account>, RegExp]>([
    [
      "wrangler is not logged in",
      { url: "-", isLoggedIn: false },
      {},
      /^wrangler is not logged in: npx wrangler login/m,
    ],
    [
      "there are two accounts",
      { url: "-", accounts: 2 },
      {},
      /^wrangler speaks for several accounts; set CLOUDFLARE_ACCOUNT_ID/m,
    ],
    [
      "the database is ahead of the code",
      { url: "-" },
      { databases: ["mayfly"], applied: ["9999_later.sql"] },
      /^the database was migrated by a newer version, which has 9999_later\.sql/m,
    ],
  ])("does nothing where %s, and says what to do", async (_what, order, state, sentence) => {
    await cloudflare.reset(order);
    await cloudflare.set({ ...(await cloudflare.see()), ...state });
    const { code, output } = await deploy();
    expect([code, output]).toEqual([1, expect.stringMatching(sentence)]);
    expect(await changing()).toEqual([]);
  });

  it.skipIf(!HAS_TERMINAL)(
    "asks on a terminal, for the token without showing it, and shows the admin token once",
    async () => {
      const typed = [
        [/Type yes to do it: /, "yes\n"],
        [/HCLOUD_TOKEN: /, `${TOKEN}\r`],
      ] as const;
      const { code, output } = await cloudflare.runOnTerminal("scripts/deploy.ts", typed, given({ HCLOUD_TOKEN: "" }));
      expect(code).toBe(0);
      const { secrets } = await cloudflare.see();
      expect(secrets?.["HCLOUD_TOKEN"]).toBe(TOKEN);
      expect(output.split(secrets?.["ADMIN_TOKEN"] ?? "-")).toHaveLength(2);
      await expectSecrecy(output);
    },
  );

  it.skipIf(!HAS_TERMINAL)("does nothing for any other answer than yes", async () => {
    const answer = await cloudflare.runOnTerminal("scripts/deploy.ts", [[/Type yes to do it: /, "y\n"]], given());
    expect(answer).toMatchObject({ code: 1, output: expect.stringContaining("nothing was done") as unknown });
    expect(await changing()).toEqual([]);
  });
});
