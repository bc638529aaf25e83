import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { migrationsOf, readToml } from "../../scripts/deploy/toml.ts";
import { createWrangler } from "../../scripts/deploy/wrangler.ts";
import { examine, type Patient } from "../../scripts/doctor/examine.ts";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { openAccount, type CloudflareAccount } from "./cloudflare-account.ts";
import { EMPTY, type Account } from "./fake-wrangler.ts";

const ADMIN = "e2e-admin";
const ABOUT = [
  "reachable",
  "health",
  "cron",
  "clock",
  "installation",
  "token",
  "policies",
  "hetzner",
  "prices",
  "currency",
  "sweeps",
  "plan",
  "limits",
  "schema",
  "history",
  "old versions",
];

describe("npm run doctor", () => {
  let stack: Stack;
  /** In front of it, as Cloudflare's edge is: a server that tells its time. */
  let edge: SimulatorServer;
  let cloudflare: CloudflareAccount;
  let deployed: Account;
  /** What it finds, each as `level about: sentence`. */
  async function findings(more: Partial<Patient> = {}): Promise<string[]> {
    const found: string[] = [];
    const patient = {
      url: edge.url,
      token: ADMIN,
      toml: await readToml(cloudflare.copy.path),
      migrations: await migrationsOf(cloudflare.copy.path),
      wrangler: createWrangler(cloudflare.copy.path, cloudflare.environment({})),
      fetch,
      now: () => Date.now(),
      ...more,
    };
    for await (const { level, about, says } of examine(patient)) found.push(`${level} ${about}: ${says}`);
    return found;
  }
  const notOk = async (more?: Partial<Patient>) => (await findings(more)).filter((line) => !line.startsWith("ok "));
  const vars = async (more: Record<string, string>): Promise<Partial<Patient>> => {
    const toml = await readToml(cloudflare.copy.path);
    return { toml: { ...toml, vars: { ...toml.vars, ...more } } };
  };
  const sql = (statement: string) => stack.db.prepare(statement).run();

  beforeAll(async () => {
    const NOTHING = { POLICIES: "[]", PROFILES: "{}", ISSUERS: "[]" };
    stack = await startStack({
      settings: { ADMIN_TOKEN: ADMIN, HCLOUD_TOKEN: "e2e-hcloud", INSTALLATION: "local", ...NOTHING },
    });
    const pass = async ({ url, headers }: Request) => {
      const { pathname, search } = new URL(url);
      const { status, body } = await fetch(stack.url + pathname + search, { headers });
      return new Response(body, { status });
    };
    edge = await serveSimulator({ fetch: pass }, 0);
    cloudflare = await openAccount();
    const applied = await migrationsOf(cloudflare.copy.path);
    deployed = { ...EMPTY, databases: ["mayfly"], applied, secrets: {}, tags: ["one", "two"] };
  });
  beforeEach(async () => {
    await cloudflare.reset({ url: stack.url });
    await cloudflare.set(deployed);
    await stack.tick(Date.now());
  });
  afterEach(() => stack.simulator?.controls.clearFaults());
  afterAll(async () => {
    await edge.close();
    await stack.stop();
    await cloudflare.remove();
  });

  it("finds nothing wrong with what is healthy, a line for each thing, and ends with 0", async () => {
    const { code, output } = await cloudflare.run("scripts/doctor.ts", [edge.url], { MAYFLY_TOKEN: ADMIN });
    const lines = output.trim().split("\n");
    expect(lines.map((line) => line.slice(6, 20).trim())).toEqual(ABOUT);
    expect(lines.filter((line) => !/^ok {4}/.test(line))).toEqual([]);
    expect(code).toBe(0);
    expect(output).not.toContain(ADMIN);
  });

  it("says of what cannot be reached only that, and ends with 1", async () => {
    const { code, output } = await cloudflare.run("scripts/doctor.ts", ["http://127.0.0.1:9"], { MAYFLY_TOKEN: ADMIN });
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/^bad {3}reachable +http:\/\/127\.0\.0\.1:9 cannot be reached .*\n$/),
    ]);
  });

  it("tells another's page from mayfly", async () => {
    const url = `${stack.simulator?.url}`;
    expect(await findings({ url })).toEqual([expect.stringMatching(/^bad reachable: .* and not as mayfly does/)]);
  });

  it("sees that cron is dead", async () => {
    await sql("UPDATE locks SET last_good_cron_at = last_good_cron_at - 650000, first_sweep_at = 1");
    expect(await notOk()).toEqual([
      expect.stringMatching(/^bad health: no good sweep for 6[45]\d s/),
      expect.stringMatching(/^bad cron: the last good sweep was 6[45]\d s ago\. Does it run/),
    ]);
  });

  it("sees that no sweep has run yet, which is no mistake by itself", async () => {
    await sql("UPDATE locks SET first_sweep_at = last_good_cron_at + 1");
    expect(await notOk()).toEqual([expect.stringMatching(/^warn cron: no sweep was good yet/)]);
    await sql("UPDATE locks SET first_sweep_at = 1");
  });

  it.each([
    ["", /^bad token: none was given/],
    ["another", /^bad token: MAYFLY_TOKEN is not taken/],
  ])("says what is wrong with the token `%s`, and looks at the rest all the same", async (token, sentence) => {
    expect(await notOk({ token })).toEqual([expect.stringMatching(sentence)]);
    expect((await findings({ token })).at(-1)).toMatch(/^ok old versions/);
  });

  it("tells a minted token from the admin's", async () => {
    const headers = { Authorization: `Bearer ${ADMIN}` };
    const minted = await fetch(`${stack.url}/v1/tokens`, { method: "POST", headers, body: '{"owner":"alice"}' });
    const { token } = z.object({ token: z.object({ secret: z.string() }) }).parse(await minted.json());
    expect(await notOk({ token: token.secret })).toEqual([
      expect.stringMatching(/^bad token: .* no admin's \(token\)/),
    ]);
  });

  it("sees that this machine's clock is wrong", async () => {
    const now = () => Date.now() - 60_000;
    expect(await notOk({ now })).toEqual([
      expect.stringMatching(/^warn clock: (5[89]|6[012])\.\d s ahead of this machine's/),
    ]);
  });

  it("cannot compare clocks where the server does not tell its own", async () => {
    expect(await notOk({ url: stack.url })).toEqual([expect.stringMatching(/^warn clock: the server does not tell/)]);
  });

  it.each([
    [{ MAX_EUR_PER_MONTH: "off" }, /^warn limits: .* any amount of EUR a month, .* nothing bounds the bill$/],
    [{ CREATES: "off" }, /^warn limits: CREATES is off/],
    [{ MAX_MACHINES: "many" }, /^bad limits: MAX_MACHINES must be a whole number/],
  ])("says what bounds all accounts, and where nothing does: %j", async (set, sentence) => {
    expect(await notOk(await vars(set))).toEqual([expect.stringMatching(sentence)]);
  });

  it("sees that Hetzner refuses the token", async () => {
    await sql("DELETE FROM catalogues");
    stack.simulator?.controls.fault({ path: "^/v1/", status: 401, times: 1000 });
    expect(await notOk()).toEqual([
      expect.stringMatching(/^bad hetzner: .* 503 provider_unauthorized: .* --replace HCLOUD_TOKEN$/),
    ]);
  });

  it("sees that sweeps fail, and where", async () => {
    stack.simulator?.controls.fault({ path: "^/v1/servers$", status: 500, times: 1000 });
    await stack.tick(Date.now() + 3_600_000);
    expect(await notOk()).toContainEqual(
      expect.stringMatching(/^warn sweeps: \d phases failed of late, the newest \w+: /),
    );
    await sql("DELETE FROM sweeps");
  });

  it("sees that the database lacks migrations, or is nearly full", async () => {
    await cloudflare.reset({ url: stack.url, bytes: 450_000_000 });
    await cloudflare.set({ ...deployed, applied: deployed.applied.slice(0, 3) });
    expect(await notOk()).toEqual([
      expect.stringMatching(/^bad schema: 22 migrations are missing, to 0025_spec_fields\.sql: npm run deploy/),
      expect.stringMatching(/^warn history: 450\.0 of 500 MB, .* Shorten KEEP_HISTORY/),
    ]);
  });

  it("sees that an older version still answers at an address of its own", async () => {
    const url = "https://mayfly.example.workers.dev";
    const asked: string[] = [];
    const reaching = (input: string, init: RequestInit) => {
      const { host, pathname, search } = new URL(input);
      asked.push(host);
      return fetch(edge.url + pathname + search, init);
    };
    expect(await notOk({ url, fetch: reaching })).toEqual([
      expect.stringMatching(/^bad old versions: 2 answer at addresses of their own, with old secrets/),
    ]);
    expect(asked).toContain("02345678-mayfly.example.workers.dev");
  });

  it("says what only Cloudflare can tell where wrangler is not logged in", async () => {
    await cloudflare.reset({ url: stack.url, isLoggedIn: false });
    expect(await notOk()).toEqual(
      ["schema", "history", "old versions"].map(
        (about) => `warn ${about}: only Cloudflare can tell: npx wrangler login, and look again`,
      ),
    );
  });
});
