import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { hasHcloud } from "./hcloud-cli.ts";
import { ROOT } from "./npm-start.ts";
import { openOperated, type Operated } from "./operated.ts";
import { readPage } from "./operations-page.ts";
import { createOperator, MINUTE, TOKEN } from "./operator.ts";

const page = await readPage();
const INSTALLATION = "installation-of-the-page";
const fresh = (): string => randomBytes(32).toString("hex");
const webhookSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const SECRETS = { HCLOUD_TOKEN: fresh(), ADMIN_TOKEN: TOKEN, INSTALLATION };
const DAY = 24 * 60 * MINUTE;
const BODY = { server_type: "cx23", region: "fsn1", ttl: "2h" };

describe("docs/operations.md", () => {
  let mayfly: Operated;
  const operator = createOperator(page, () => mayfly);
  const { call, cloud, event, follow, health, loseServers, machines, mint, minutesLater, servers, succeed } = operator;
  const commands = async () => (await mayfly.cloudflare.calls()).map(({ command }) => command);

  beforeAll(async () => {
    mayfly = await openOperated();
  });
  beforeEach(() => mayfly.begin(SECRETS));
  afterAll(() => mayfly.end());

  it("Update: deploys what differs, and then nothing differs", async () => {
    await succeed("Update", 1);
    expect(await mayfly.others()).toBe("git pull --ff-only\nnpm ci\n");
    expect(await follow("Update", 2)).toMatchObject({
      code: 1,
      output: expect.stringContaining("to do: deploy mayfly") as unknown,
    });
    await succeed("Update", 3);
    expect((await mayfly.cloudflare.see()).tags).toEqual(["older", expect.stringMatching(/^mayfly-/)]);
    expect(await follow("Update", 2)).toMatchObject({ code: 0 });
    const { output } = await follow("Update", 4);
    expect(output).toMatch(/^ok +health/m);
    expect(output).toMatch(/^ok +schema/m);
  });

  it("Roll back: an older version is deployed with the secrets of today, or served again", async () => {
    await succeed("Roll back", 1, { VERSION: "v1" });
    expect(await mayfly.others()).toContain("git checkout v1\n");
    const { secrets, tags } = await mayfly.cloudflare.see();
    expect(secrets).toEqual(SECRETS);
    const id = /Version ID: +(\S+)/.exec(await succeed("Roll back", 2))?.[1] ?? "";
    await succeed("Roll back", 3, { VERSION_ID: id });
    expect((await mayfly.cloudflare.see()).tags).toEqual([...tags, "older"]);
    expect((await follow("Roll back", 4)).output).toContain('"status"');
  });

  it("Roll back: names each migration that does more than to add", async () => {
    const folder = join(ROOT, "migrations");
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    const removing = names.filter((_, index) =>
      /^\s*(?:DROP|ALTER TABLE \w+ (?:DROP|RENAME))\b/m.test(texts[index] ?? ""),
    );
    expect([...page.text.matchAll(/^\| `(\d{4}_\w+\.sql)`/gm)].map(([, name]) => name)).toEqual(removing);
    // What is added to rows that are there already asks nothing of older code.
    const demanding = texts.join("\n").matchAll(/ADD COLUMN [^;]*NOT NULL[^;]*;/g);
    for (const [statement] of demanding) expect(statement).toContain("DEFAULT");
  });

  it("Rotate HCLOUD_TOKEN: the new one is in use, and what was made under the old one is looked after", async () => {
    expect((await call("PUT", "/v1/machines/box?wait=30", BODY)).status).toBe(201);
    const HCLOUD_TOKEN = fresh();
    await succeed("Rotate HCLOUD_TOKEN", 1, { HCLOUD_TOKEN });
    expect((await mayfly.cloudflare.see()).secrets).toEqual({ ...SECRETS, HCLOUD_TOKEN });
    expect(await succeed("Rotate HCLOUD_TOKEN", 2)).toMatch(/"outcome":"ok"/);
    await minutesLater(20);
    expect((await call("DELETE", "/v1/machines/box")).status).toBeLessThan(300);
    await minutesLater(2);
    expect(servers()).toEqual([]);
  });

  it("Rotate ADMIN_TOKEN: the old one is 401, and AUTH_EPOCH ends the minted ones", async () => {
    const { secret } = await mint("alice");
    await succeed("Rotate ADMIN_TOKEN", 1);
    const made = z.looseObject({ ADMIN_TOKEN: z.string() });
    const kept = made.parse(JSON.parse(await readFile(join(mayfly.cloudflare.copy.path, "secrets.json"), "utf8")));
    expect((await call("GET", "/v1/whoami")).status).toBe(401);
    expect((await call("GET", "/v1/whoami", undefined, kept.ADMIN_TOKEN)).status).toBe(200);
    expect((await call("GET", "/v1/whoami", undefined, secret)).status).toBe(200);
    await succeed("Rotate ADMIN_TOKEN", 2);
    await succeed("Rotate ADMIN_TOKEN", 3);
    expect((await call("GET", "/v1/whoami", undefined, secret)).status).toBe(401);
    expect((await call("GET", "/v1/whoami", undefined, kept.ADMIN_TOKEN)).status).toBe(200);
  });

  it.skipIf(!hasHcloud())("Change INSTALLATION: what carries the old word is looked after to its end", async () => {
    const section = "Change INSTALLATION";
    const env = { OLD_INSTALLATION: INSTALLATION, NEW_INSTALLATION: "another-word-of-the-page", HCLOUD_TOKEN: fresh() };
    expect((await call("PUT", "/v1/machines/box?wait=30", BODY)).status).toBe(201);
    await succeed(section, 1, env);
    await succeed(section, 2, env);
    expect((await mayfly.cloudflare.see()).secrets).toMatchObject({ INSTALLATION: env.NEW_INSTALLATION });
    expect((await call("PUT", "/v1/machines/next?wait=30", BODY)).status).toBe(201);
    expect(servers().map(({ labels }) => labels?.["mayfly-installation"])).toEqual([
      INSTALLATION,
      env.NEW_INSTALLATION,
    ]);
    expect(await succeed(section, 3, env)).not.toBe("");
    await call("DELETE", "/v1/machines/box");
    await minutesLater(2);
    expect(await succeed(section, 3, env)).toBe("");
    await succeed(section, 4, env);
    await succeed(section, 5, env);
    expect(servers()).toHaveLength(1);
    expect((await call("PUT", "/v1/machines/later", BODY)).status).toBe(201);
  });

  it("Rotate a hook's secret: both are taken, and then the new one alone", async () => {
    const hook = { sender: "standard", secret: "HOOK_PREVIEW", policy: "hooks", profile: "small" };
    const [OLD_SECRET, NEW_SECRET] = [webhookSecret(), webhookSecret()];
    await mayfly.begin({ ...SECRETS, HOOK_PREVIEW: OLD_SECRET }, { preview: hook });
    expect([await event(OLD_SECRET), await event(NEW_SECRET)]).toEqual([202, 401]);
    await succeed("Rotate a hook's secret", 1, { OLD_SECRET, NEW_SECRET });
    expect([await event(OLD_SECRET), await event(NEW_SECRET)]).toEqual([202, 202]);
    await succeed("Rotate a hook's secret", 2);
    expect([await event(OLD_SECRET), await event(NEW_SECRET)]).toEqual([401, 202]);
  });

  it("Restore the database: revoked tokens stay ended, and machines have their rows again", async () => {
    const section = "Restore the database";
    const revoked = await mint("alice");
    expect((await call("PUT", "/v1/machines/box?wait=30", BODY, revoked.secret)).status).toBe(201);
    expect((await call("DELETE", `/v1/tokens/${revoked.id}`)).status).toBeLessThan(300);
    expect((await call("GET", "/v1/whoami", undefined, revoked.secret)).status).toBe(401);
    const WHEN = "2026-11-30T12:00:00Z";
    await succeed(section, 1, { WHEN });
    expect(await commands()).toEqual([
      `d1 time-travel info mayfly --timestamp ${WHEN}`,
      `d1 time-travel restore mayfly --timestamp ${WHEN}`,
    ]);
    // As it was before the machine was made and the token revoked.
    await mayfly
      .stack()
      .db.batch([
        mayfly.stack().db.prepare("DELETE FROM machines"),
        mayfly.stack().db.prepare("UPDATE tokens SET revoked_at = NULL"),
      ]);
    expect((await call("GET", "/v1/whoami", undefined, revoked.secret)).status).toBe(200);
    await succeed(section, 2);
    await succeed(section, 3);
    expect((await call("GET", "/v1/whoami", undefined, revoked.secret)).status).toBe(401);
    await minutesLater(16);
    expect(await machines()).toMatchObject([{ name: "box", owner: "tok.alice" }]);
    await succeed(section, 4);
    expect(await succeed(section, 5)).toMatch(/^tok\.alice box \d{4}-/);
    expect(servers()).toHaveLength(1);
  });

  it.skipIf(!hasHcloud())("Drain and move, then uninstall: nothing is made, nothing is left, all is gone", async () => {
    const section = "Drain, and move to another Hetzner project";
    const { secret } = await mint("alice");
    const attached = { ...BODY, firewalls: [{ deny_all: true }], networks: [{ ip_range: "10.0.0.0/16" }] };
    expect((await call("PUT", "/v1/machines/box?wait=30", attached, secret)).status).toBe(201);
    expect((await call("PUT", "/v1/machines/box?wait=30", BODY)).status).toBe(201);
    await succeed(section, 1);
    await succeed(section, 2);
    expect(await call("PUT", "/v1/machines/more", BODY)).toMatchObject({ status: 503 });
    expect(servers()).toHaveLength(2);
    const env = { INSTALLATION, HCLOUD_TOKEN: fresh() };
    expect(await succeed(section, 4, env)).not.toBe("");
    expect(await succeed(section, 3)).toMatch(/^admin\ntok\.alice\n/);
    expect(await succeed(section, 4, env)).toBe("");
    expect([servers(), cloud()?.firewalls, cloud()?.networks]).toEqual([[], [], []]);

    await succeed(section, 5, env);
    expect((await mayfly.cloudflare.see()).secrets).toMatchObject({ HCLOUD_TOKEN: env.HCLOUD_TOKEN });
    expect(await succeed(section, 6)).toContain('"name":"credential"');
    expect((await call("PUT", "/v1/machines/more", BODY)).status).toBe(503);
    await succeed(section, 7);
    await succeed(section, 8);
    expect((await call("PUT", "/v1/machines/more", BODY)).status).toBe(201);

    await succeed(section, 1);
    await succeed(section, 2);
    await succeed(section, 3);
    expect(await succeed(section, 4, env)).toBe("");
    await succeed("Uninstall", 1);
    expect(await mayfly.cloudflare.see()).toEqual({ databases: [], applied: [], secrets: null, tags: [] });
  });

  it("Drain and move: what the other project does not show is held until it is released", async () => {
    const section = "Drain, and move to another Hetzner project";
    expect((await call("PUT", "/v1/machines/box?wait=30", BODY)).status).toBe(201);
    await minutesLater(2);
    await loseServers();
    await succeed(section, 5, { HCLOUD_TOKEN: fresh() });
    expect((await call("PUT", "/v1/machines/next?wait=30", BODY)).status).toBe(201);
    await minutesLater(50, 5);
    expect((await machines()).map(({ name }) => name)).toEqual(["box", "next"]);
    expect(await health()).toContain("under another token");
    await succeed(section, 6);
    await minutesLater(110, 5);
    expect((await machines()).map(({ name }) => name)).toEqual(["next"]);
    expect(await health()).not.toContain("under another token");
  });

  it("Retention: what would be forgotten by default is kept for as long as is set", async () => {
    const ended = async () => (await machines("?status=destroyed")).length;
    await succeed("Retention", 1);
    await succeed("Retention", 2);
    expect(await succeed("Retention", 3)).toContain('"database_size"');
    await call("PUT", "/v1/machines/box?wait=30", BODY);
    await call("DELETE", "/v1/machines/box");
    // Until its end is in the ledger.
    await minutesLater(30, 10);
    const times = ["destroyed_at", "expires_at", "max_until"].map((name) => `${name} = ${name} - ${60 * DAY}`);
    await mayfly
      .stack()
      .db.prepare(`UPDATE machines SET ${times.join(", ")}`)
      .run();
    await minutesLater(120, 60);
    expect(await ended()).toBe(1);
    await mayfly.vars("");
    await succeed("Retention", 2);
    await minutesLater(120, 60);
    expect(await ended()).toBe(0);
  });

  it("Alerts: what is to be watched answers, and a death nobody asked for is shown", async () => {
    expect((await call("PUT", "/v1/machines/box?wait=30", BODY)).status).toBe(201);
    expect((await call("PUT", "/v1/machines/asked?wait=30", BODY)).status).toBe(201);
    await call("DELETE", "/v1/machines/asked");
    await loseServers();
    await minutesLater(40);
    expect(await succeed("Alerts", 1)).toContain('"status":"green"');
    expect(await succeed("Alerts", 2)).toContain('"sweeps"');
    const ended = (await succeed("Alerts", 3)).trim().split("\n");
    expect(ended).toEqual([expect.stringContaining('"name":"box"')]);
    expect(await succeed("Alerts", 4)).toMatch(/^\{/);
  });

  it.skipIf(!hasHcloud())("has no command that is not tried here", () => {
    const all = [...page.sections].flatMap(([name, blocks]) => blocks.map((_, index) => `${name} ${index + 1}`));
    expect(all.length).toBeGreaterThan(30);
    expect([...operator.used].toSorted()).toEqual(all.toSorted());
  });
});
