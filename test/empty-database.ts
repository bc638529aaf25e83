import { env } from "cloudflare:workers";

const NOW = Date.UTC(2026, 10, 30, 12);

/** All tables that a test may find something in. */
export const TABLES = [
  "machines",
  "charges",
  "charged_months",
  "events",
  "sweeps",
  "tokens",
  "settings",
  "reap_failures",
  "tombstones",
  "catalogues",
  "cooldowns",
  "resources",
  "resource_uses",
  "locks",
  "deliveries",
  "hook_ranks",
];

/** The database as a test begins with it. */
export async function emptyDatabase(): Promise<void> {
  await env.DB.batch([
    ...TABLES.map((table) => env.DB.prepare(`DELETE FROM ${table}`)),
    // Silent sweeps are a test's own subject; elsewhere they would make every create sweep.
    // So would the looks at everything: they count as made when a test's clock begins.
    env.DB.prepare(
      "INSERT INTO locks (name, last_good_cron_at, resources_listed_at, catalogue_asked_at, booked_at, forgotten_at, reconcile) VALUES ('sweep', 4102444800000, ?1, ?1, ?1, ?1, ?2)",
    ).bind(
      NOW,
      JSON.stringify({ pass: null, lastAt: NOW, doubts: { inventory_untrusted: false, other_credential: false } }),
    ),
  ]);
}
