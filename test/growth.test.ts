import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { emptyDatabase } from "./empty-database.ts";
import { BODY, createMayfly, HOUR, MINUTE, NOW, type Mayfly } from "./mayfly.ts";
import { counting } from "./rows.ts";

const OWNER = "tok.alice";
const FEW = 10;
const MANY = 20_000;

/** One owner's past, of so many machines and of so much of all else: half of it under names that are in use again. */
async function history(count: number): Promise<void> {
  const numbers = `WITH RECURSIVE past(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM past WHERE n < ${count})`;
  const name = "iif(n % 2, 'box', 'old-' || n)";
  await env.DB.batch(
    [
      `INSERT INTO machines (uid, owner, account, name, provider, provider_name, provider_id, installation, credential, phase, status,
         reason, spec_sha256, server_type, region, image, requested_at, created_at, expires_at, max_until, destroyed_at, booked_at, booked_hours)
       ${numbers} SELECT 'past-' || n, '${OWNER}', '${OWNER}', ${name}, 'hetzner', 'p-' || n, n, '${env.INSTALLATION}', 'c', 'destroyed',
         'destroyed', 'expired', '', 'cx23', 'fsn1', 'debian-12', ${NOW} - n * 60000, ${NOW} - n * 60000, ${NOW} - n, ${NOW}, ${NOW} - n, ${NOW}, 1
       FROM past`,
      `INSERT INTO events (at, uid, owner, account, name, event) ${numbers}
       SELECT ${NOW} - n, 'past-' || n, '${OWNER}', '${OWNER}', ${name}, 'destroyed' FROM past`,
      `INSERT INTO resources (uid, kind, owner, name, provider, provider_name, installation, phase, spec, requested_at, expires_at, deleted_at)
       ${numbers} SELECT 'past-' || n, 'firewall', '${OWNER}', iif(n % 2, 'web', 'old-' || n), 'hetzner', 'p-' || n, '${env.INSTALLATION}', 'deleted',
         '{"kind":"firewall","rules":[],"denyAll":true}', ${NOW} - n, ${NOW} - n, ${NOW} - n FROM past`,
      // All of them used a firewall that is in use still.
      `INSERT INTO resource_uses (resource_uid, machine_uid) ${numbers}
       SELECT (SELECT uid FROM resources WHERE name = 'web' AND phase = 'active'), 'past-' || n FROM past`,
      `INSERT INTO tokens (id, owner, secret_sha256, auth_epoch, created_at, expires_at) ${numbers}
       SELECT 'past-' || n, '${OWNER}', 'past-' || n, '1', ${NOW} - n, ${NOW} - n FROM past`,
      `INSERT INTO sweeps (id, started_by, dry_run, scheduled_at, started_at, finished_at, outcome, report) ${numbers}
       SELECT n, 'cron', 0, ${NOW} - n, ${NOW} - n, ${NOW} - n, 'ok', '{}' FROM past`,
      `INSERT INTO charges (period, account, owner, server_type, hours, micro_eur, estimated_micro_eur) ${numbers}
       SELECT 'day-' || n, '${OWNER}', '${OWNER}', 'cx23', 1, 1, 0 FROM past`,
      "UPDATE locks SET fence = 1000000",
    ].map((text) => env.DB.prepare(text)),
  );
}

/** Rows that calls and ticks read, with a past of so many. */
async function rowsRead(past: number): Promise<Record<string, number>> {
  const mayfly = createMayfly({ MAX_MACHINES: "20", MAX_EUR_PER_MONTH: "100" });
  const token = await mayfly.tokenOf("alice");
  await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true }, token);
  for (const name of ["box", "other"])
    await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, firewalls: ["web"] }, token);
  await history(past);
  await settled(mayfly);
  const { db, rows } = counting(env.DB);
  mayfly.configure({ DB: db });
  const read: Record<string, number> = {};
  const measure = async (what: string, act: () => Promise<unknown>) => {
    const before = rows.read;
    await act();
    read[what] = rows.read - before;
  };
  const call = (method: string, path: string, body?: unknown, by = token) =>
    measure(`${method} ${path}${by === token ? "" : ", by an admin"}`, async () => {
      const { status, text } = await mayfly.send(method, path, body, by);
      expect(status, `${method} ${path}: ${text}`).toBeLessThan(300);
    });
  await measure("an idle tick", () => tick(mayfly, MINUTE));
  await measure("a tick that begins an inventory pass", () => tick(mayfly, 15 * MINUTE));
  await measure("a tick that ends it", () => tick(mayfly, MINUTE));
  await call("GET", "/healthz");
  await call("GET", "/v1/machines/box");
  await call("GET", "/v1/machines");
  await call("GET", "/v1/machines?status=running");
  await call("GET", "/v1/machines?status=destroyed&per_page=5");
  await call("GET", "/v1/machines?status=destroyed&status=running&per_page=5");
  await call("GET", "/v1/machines?status=destroyed&per_page=5", undefined, env.ADMIN_TOKEN);
  await call("GET", "/v1/events?per_page=5");
  await call("GET", "/v1/events?per_page=5", undefined, env.ADMIN_TOKEN);
  await call("GET", "/v1/firewalls");
  await call("GET", "/v1/firewalls/web");
  await call("GET", "/v1/tokens?per_page=5", undefined, env.ADMIN_TOKEN);
  await call("GET", "/v1/sweeps?per_page=5", undefined, env.ADMIN_TOKEN);
  await call("PUT", "/v1/machines/new", { ...BODY, firewalls: ["web"] });
  await call("PUT", "/v1/machines/old-2", BODY);
  await call("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"] });
  await call("POST", "/v1/machines/box/renew", { ttl: "5h" });
  await call("POST", "/v1/firewalls", { name: "old-2", deny_all: true });
  await call("DELETE", "/v1/machines/new?tombstone=10m");
  await call("GET", "/v1/machines/new");
  await call("DELETE", "/v1/machines?label_selector=none");
  await call("DELETE", "/v1/firewalls/old-2");
  await call("POST", "/v1/teardown", {});
  await measure("a tick that ends machines", () => tick(mayfly, MINUTE));
  return read;
}

/** All that was made runs, and the hourly look at everything is over. */
async function settled(mayfly: Mayfly): Promise<void> {
  mayfly.advance(HOUR / 2);
  await env.DB.prepare("UPDATE locks SET resources_listed_at = 0").run();
  for (let number = 0; number < 3; number++) await tick(mayfly, MINUTE);
}

async function tick(mayfly: Mayfly, later: number): Promise<void> {
  mayfly.advance(later);
  const report = await mayfly.tick();
  expect(report?.phases.filter(({ failure }) => failure !== null)).toEqual([]);
}

it("what a call or a tick reads does not grow with an owner's past", async () => {
  const few = await rowsRead(FEW);
  await emptyDatabase();
  const many = await rowsRead(MANY);
  expect(many).toEqual(few);
});
