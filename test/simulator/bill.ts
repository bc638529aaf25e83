// What Hetzner would charge for the servers of the project. Nothing in the API says so: bills are not in it.
import type { Labels } from "./labels.ts";
import { atPercent, type PriceRow } from "./prices.ts";
import { IPV4_PRICES } from "./pricing.ts";
import type { ServerRecord } from "./server-record.ts";
import { labelsOf } from "./server-record.ts";
import type { World } from "./world.ts";

const HOUR_MS = 3_600_000;

/** What one calendar month (UTC) comes to, gross. */
export interface BilledMonth {
  server_micro_eur: number;
  ipv4_micro_eur: number;
}

export interface BilledServer {
  id: number;
  name: string;
  labels: Labels;
  born_ms: number;
  /** Null while it lives. */
  deleted_ms: number | null;
  /** By month, as `2026-11`. */
  months: Record<string, BilledMonth>;
}

export interface Bill {
  servers: BilledServer[];
  total_micro_eur: number;
}

/** The bill by that time over everything since the last reset, deleted servers included. A type that has no price costs nothing. */
export function billOf(world: World, now_ms: number): Bill {
  const ended = world.deleted.map(({ record, deleted_ms }) => billServer(record, deleted_ms, now_ms));
  const living = [...world.servers.values()].map((record) => billServer(record, null, now_ms));
  const servers = [...ended, ...living].toSorted((a, b) => a.id - b.id);
  const months = servers.flatMap((server) => Object.values(server.months));
  return {
    servers,
    total_micro_eur: months.reduce((total, month) => total + month.server_micro_eur + month.ipv4_micro_eur, 0),
  };
}

function billServer(record: ServerRecord, deleted_ms: number | null, now_ms: number): BilledServer {
  const { view, born_ms, price_percent } = record;
  // Whoever put a server in may have left these out.
  const type = rateAt(view.server_type?.prices ?? [], view.location?.name, price_percent);
  const ipv4 =
    (view.public_net?.ipv4 ?? null) === null ? FREE : rateAt(IPV4_PRICES, view.location?.name, price_percent);
  const months = [...hoursByMonth(born_ms, deleted_ms ?? now_ms)].map(([month, hours]): [string, BilledMonth] => [
    month,
    {
      server_micro_eur: Math.min(hours * type.hour, type.month),
      ipv4_micro_eur: Math.min(hours * ipv4.hour, ipv4.month),
    },
  ]);
  return {
    id: view.id,
    name: view.name,
    labels: labelsOf(record),
    born_ms,
    deleted_ms,
    months: Object.fromEntries(months),
  };
}

/** The started hours of a life, each in the month in which it starts; the first starts with the life. */
function hoursByMonth(born_ms: number, until_ms: number): Map<string, number> {
  const months = new Map<string, number>();
  let start_ms = born_ms;
  do {
    const month = new Date(start_ms).toISOString().slice(0, 7);
    months.set(month, (months.get(month) ?? 0) + 1);
    start_ms += HOUR_MS;
  } while (start_ms < until_ms);
  return months;
}

/** Micro-EUR. */
interface Rate {
  hour: number;
  month: number;
}

const FREE: Rate = { hour: 0, month: 0 };

function rateAt(prices: PriceRow[], location: string | undefined, percent: number): Rate {
  const [row] = atPercent(
    prices.filter((candidate) => candidate.location === location),
    percent,
  );
  const micro = (amount: string): number => Math.round(Number(amount) * 1e6);
  return row ? { hour: micro(row.price_hourly.gross), month: micro(row.price_monthly.gross) } : FREE;
}
