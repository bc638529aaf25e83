import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach } from "vitest";
import { refuseForbidden } from "./driven-simulator.ts";

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

const TABLES = [
  "machines",
  "events",
  "sweeps",
  "tokens",
  "settings",
  "reap_failures",
  "tombstones",
  "catalogues",
  "cooldowns",
  "locks",
];

beforeEach(async () => {
  await env.DB.batch([
    ...TABLES.map((table) => env.DB.prepare(`DELETE FROM ${table}`)),
    // Silent sweeps are a test's own subject; elsewhere they would make every create sweep.
    env.DB.prepare("INSERT INTO locks (name, last_good_cron_at) VALUES ('sweep', 4102444800000)"),
  ]);
});

afterEach(refuseForbidden);
// What a test has left running may still ask after its end.
afterAll(refuseForbidden);
