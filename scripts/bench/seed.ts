// Machines and a past that nobody has to make one by one: rows, and what the provider shows of them.
import { createHash } from "node:crypto";
import { ourLabels } from "../../src/machine/labels.ts";
import type { Provider } from "./provider.ts";
import { HCLOUD_TOKEN, INSTALLATION, OWNER, type World } from "./world.ts";

const HOUR = 3_600_000;
const CREDENTIAL = createHash("sha256").update(HCLOUD_TOKEN).digest("hex").slice(0, 16);
/** D1 takes so many in one statement without pause. */
const CHUNK = 1000;

export interface SeedOptions {
  /** Of their names, which are this and a number. */
  readonly prefix?: string;
  /** Milliseconds from now; negative is past its end. */
  readonly endsIn?: number;
  /** Their deletion was accepted, and the provider has nothing of them any more. */
  readonly areGone?: boolean;
}

/** Between two seeds the provider gives out ids of its own. */
const IDS_APART = 100_000;

let made = 0;
let seeds = 0;

/** So many running machines, an hour old, as rows and at the provider; their names. */
export async function seedMachines(
  { db }: Pick<World, "db">,
  provider: Provider | null,
  count: number,
  { prefix = "m", endsIn = 8 * HOUR, areGone = false }: SeedOptions = {},
): Promise<readonly string[]> {
  // Labels tell seconds: with anything else each row would have to be written again.
  const now = Math.floor(Date.now() / 1000) * 1000;
  seeds += 1;
  const firstId = seeds * IDS_APART;
  const rows = Array.from({ length: count }, (_, index) => {
    made += 1;
    const requestedAt = now - HOUR;
    return {
      uid: `10000000-0000-4000-8000-${made.toString(16).padStart(12, "0")}`,
      id: firstId + index,
      installation: INSTALLATION,
      owner: OWNER,
      account: OWNER,
      name: `${prefix}-${index}`,
      providerName: `${prefix}-${index}-${made.toString(16)}`,
      requestedAt,
      expiresAt: now + endsIn,
      maxUntil: Math.max(requestedAt + 24 * HOUR, now + endsIn),
    };
  });
  if (!areGone)
    await provider?.add(
      rows.map((row) => ({
        id: row.id,
        name: row.providerName,
        created: new Date(row.requestedAt).toISOString(),
        labels: ourLabels(row),
        server_type: "cx23",
        location: "fsn1",
        status: "running",
      })),
    );
  for (let at = 0; at < rows.length; at += CHUNK)
    await db.batch([
      db.prepare(MACHINES).bind(JSON.stringify(rows.slice(at, at + CHUNK)), CREDENTIAL, now, areGone ? 1 : 0),
    ]);
  return rows.map(({ name }) => name);
}

const MACHINES = `
  INSERT INTO machines (uid, owner, account, name, provider, provider_name, provider_id, installation, credential, phase, status,
    spec_sha256, server_type, region, image, arch, price_micro_eur, price_month_micro_eur, ipv4_micro_eur, ipv4_month_micro_eur,
    requested_at, created_at, expires_at, max_until, label_expires_at, observed_at, reason, delete_accepted_at)
  SELECT value->>'uid', value->>'owner', value->>'account', value->>'name', 'hetzner', value->>'providerName', value->>'id',
    value->>'installation', ?2, iif(?4, 'destroying', 'active'), iif(?4, 'deleting', 'running'), '', 'cx23', 'fsn1', 'debian-13', 'amd64', 6000, 3990000,
    800, 500000, value->>'requestedAt', value->>'requestedAt', value->>'expiresAt', value->>'maxUntil', value->>'expiresAt', ?3,
    iif(?4, 'expired', NULL), iif(?4, ?3 - 120000, NULL)
  FROM json_each(?1)`;

/** What is due or going is over, whatever a sweep has left of it. */
export async function endDue({ db }: Pick<World, "db">): Promise<void> {
  await db
    .prepare(
      `UPDATE machines SET phase = 'destroyed', status = 'destroyed', destroyed_at = ?1, booked_at = ?1
       WHERE phase IN ('requested', 'active', 'destroying') AND expires_at <= ?1`,
    )
    .bind(Date.now())
    .run();
}

/** So many machines of that owner that have ended, half of them under one name, and what was told of them. */
export async function seedPast({ db }: Pick<World, "db">, count: number): Promise<void> {
  const now = Date.now();
  for (let from = 0; from < count; from += 10_000) {
    const numbers = `WITH RECURSIVE past(n) AS (SELECT ${from + 1} UNION ALL SELECT n + 1 FROM past WHERE n < ${Math.min(count, from + 10_000)})`;
    await db.batch(
      [
        `INSERT INTO machines (uid, owner, account, name, provider, provider_name, provider_id, installation, credential, phase,
           status, reason, spec_sha256, server_type, region, image, requested_at, created_at, expires_at, max_until, destroyed_at,
           booked_at, booked_hours)
         ${numbers} SELECT 'past-' || n, '${OWNER}', '${OWNER}', iif(n % 2, 'box', 'old-' || n), 'hetzner', 'p-' || n, n,
           '${INSTALLATION}', 'c', 'destroyed', 'destroyed', 'expired', '', 'cx23', 'fsn1', 'debian-13', ${now} - n * 1000,
           ${now} - n * 1000, ${now} - n, ${now}, ${now} - n, ${now}, 1 FROM past`,
        `INSERT INTO events (at, uid, owner, account, name, event)
         ${numbers} SELECT ${now} - n, 'past-' || n, '${OWNER}', '${OWNER}', 'old-' || n, 'destroyed' FROM past`,
      ].map((text) => db.prepare(text)),
    );
  }
}
