// What only Cloudflare can tell, through wrangler where that is logged in.
import * as z from "zod";
import { appliedTo } from "../deploy/cloudflare.ts";
import type { Fetch } from "../deploy/health.ts";
import type { Toml } from "../deploy/toml.ts";
import { demand, jsonIn, type Wrangler } from "../deploy/wrangler.ts";
import { bad, ok, warn, type Finding } from "./finding.ts";

/** What is compared with what is there. */
export interface Checkout {
  readonly toml: Toml;
  readonly migrations: readonly string[];
}

/** By Cloudflare's plan: megabytes that a database may hold, and rows that may be written in a day. */
const MOST = { free: { megabytes: 500, rows: 100_000 }, paid: { megabytes: 10_000, rows: Infinity } };
const MUCH = 0.8;

const info = z.looseObject({ database_size: z.coerce.number(), rows_written_24h: z.coerce.number().optional() });
const versions = z.array(z.looseObject({ id: z.string() }));
const TIMEOUT_MS = 10_000;

export async function accountFindings(
  wrangler: Wrangler,
  checkout: Checkout,
  url: string,
  fetch: Fetch,
): Promise<Finding[]> {
  if ((await wrangler(["whoami", "--json"])).code !== 0) {
    const what = "only Cloudflare can tell: npx wrangler login, and look again";
    return [warn("schema", what), warn("history", what), warn("old versions", what)];
  }
  return Promise.all([
    saying("schema", () => schema(wrangler, checkout)),
    saying("history", () => history(wrangler, checkout)),
    saying("old versions", () => oldVersions(wrangler, checkout, url, fetch)),
  ]);
}

/** What cannot be looked at is no reason to say nothing of the rest. */
async function saying(about: string, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    return warn(about, error instanceof Error ? error.message : String(error));
  }
}

async function schema(wrangler: Wrangler, { toml, migrations }: Checkout): Promise<Finding> {
  const applied = await appliedTo(wrangler, toml.database.name);
  const missing = migrations.filter((name) => !applied.includes(name));
  const ahead = applied.filter((name) => !migrations.includes(name));
  if (ahead.length > 0) return warn("schema", `${ahead.at(-1)} is of a newer version than this checkout: update it`);
  if (missing.length > 0)
    return bad("schema", `${missing.length} migrations are missing, to ${missing.at(-1)}: npm run deploy`);
  return ok("schema", applied.at(-1) ?? "empty");
}

async function history(wrangler: Wrangler, { toml }: Checkout): Promise<Finding> {
  const { database_size: bytes, rows_written_24h: rows = 0 } = jsonIn(
    await demand(wrangler, ["d1", "info", toml.database.name, "--json"]),
    info,
  );
  const most = toml.vars["PLAN"] === "paid" ? MOST.paid : MOST.free;
  const megabytes = bytes / 1e6;
  const says = `${megabytes.toFixed(1)} of ${most.megabytes} MB, ${rows} rows written in a day`;
  if (megabytes > MUCH * most.megabytes)
    return warn("history", `${says}. Shorten KEEP_HISTORY, or take a plan with more room`);
  if (rows > MUCH * most.rows)
    return warn("history", `${says} of ${most.rows}: over that nothing is written until 00:00 UTC`);
  return ok("history", says);
}

/** An older version that still answers does so with the secrets of its day. */
async function oldVersions(wrangler: Wrangler, { toml }: Checkout, url: string, fetch: Fetch): Promise<Finding> {
  const { host } = new URL(url);
  const setting = toml.hasPreviews ? ". Set preview_urls = false in wrangler.toml, and npm run deploy" : "";
  if (!host.endsWith(".workers.dev"))
    return toml.hasPreviews
      ? warn("old versions", `they may answer at addresses of workers.dev${setting}`)
      : ok("old versions", "preview_urls is off; an address of workers.dev would be tried");
  const listed = jsonIn(await demand(wrangler, ["versions", "list", "--json"]), versions);
  const answers = await Promise.all(
    listed.map(({ id }) => reaches(`https://${id.slice(0, 8)}-${host}/healthz`, fetch)),
  );
  const reached = answers.filter((isReached) => isReached).length;
  if (reached === 0) return ok("old versions", `none of the last ${listed.length} answers at an address of its own`);
  return bad(
    "old versions",
    `${reached} answer at addresses of their own, with old secrets${setting || ": npm run deploy turns them off"}`,
  );
}

async function reaches(address: string, fetch: Fetch): Promise<boolean> {
  try {
    const response = await fetch(address, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return (await response.text()).includes('"last_good_sweep_at"');
  } catch {
    // Nobody there, which is as it should be.
    return false;
  }
}
