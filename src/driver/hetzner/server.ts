/**
 * A server as the API shows it, read by hand: fifty are on a page, each with the prices of all its locations, and a sweep looks at
 * every one again before it deletes it. A field that is missing or odd costs only itself, because a list that failed over one of
 * them would blind the reaper. Only the id is indispensable. Tests hold this against a schema.
 */
import { LABEL } from "../../machine/labels.ts";
import type { Labels } from "../../machine/machine.ts";

export interface Server {
  readonly id: number;
  /** Texts are empty where there is none. */
  readonly name: string;
  readonly status: string;
  readonly created: unknown;
  /** Null where they cannot be read. */
  readonly labels: Labels | null;
  readonly ipv4: string;
  /** A /64, as a range. */
  readonly ipv6: string;
  /** Null where one of them cannot be read. */
  readonly firewalls: readonly Firewall[] | null;
  /** Null where they cannot be read, and in it whichever cannot. */
  readonly privateNet: readonly (InNetwork | null)[] | null;
  readonly serverType: string;
  readonly architecture: string;
  readonly prices: PriceRows;
  readonly location: string;
  readonly deleteProtected: boolean;
}
interface Firewall {
  readonly id: number;
  readonly isApplied: boolean;
}
interface InNetwork {
  readonly ip: string;
  /** Null where it cannot be read. */
  readonly network: number | null;
}
/** Gross amounts by location, as they were told; of a row that cannot be read there is null. */
export type PriceRows = readonly ({
  readonly location: string;
  readonly hourly: unknown;
  readonly monthly: unknown;
} | null)[];

type Fields = Readonly<Record<string, unknown>>;

/** Null for what has no id. */
export function readServer(item: unknown): Server | null {
  const { id, name, status, created, labels, public_net, private_net, server_type, location, protection } =
    fieldsOf(item);
  if (!isId(id)) return null;
  const { ipv4, ipv6, firewalls } = fieldsOf(public_net);
  const type = fieldsOf(server_type);
  return {
    id,
    name: textOf(name),
    status: textOf(status),
    created,
    labels: readLabels(labels),
    ipv4: textOf(fieldsOf(ipv4)["ip"]),
    ipv6: textOf(fieldsOf(ipv6)["ip"]),
    firewalls: firewallsIn(firewalls),
    privateNet: Array.isArray(private_net) ? private_net.map(inNetwork) : null,
    serverType: textOf(type["name"]),
    architecture: textOf(type["architecture"]),
    prices: readPriceRows(type["prices"]),
    location: textOf(fieldsOf(location)["name"]),
    deleteProtected: fieldsOf(protection)["delete"] === true,
  };
}

/** None where it is no list. */
export const readPriceRows = (rows: unknown): PriceRows => (Array.isArray(rows) ? rows.map(priceRow) : []);

function priceRow(row: unknown): PriceRows[number] {
  const { location, price_hourly, price_monthly } = fieldsOf(row);
  if (typeof location !== "string" || !isFields(price_hourly)) return null;
  return { location, hourly: price_hourly["gross"], monthly: fieldsOf(price_monthly)["gross"] };
}

const OURS: ReadonlySet<string> = new Set(Object.values(LABEL));

/**
 * Null where they cannot be read. One of ours that is not text makes them so: without it a machine would seem to be somebody else's, and
 * be given up. Any other that is not text is left out.
 */
export function readLabels(labels: unknown): Labels | null {
  if (!isFields(labels)) return null;
  const entries = Object.entries(labels);
  const isText = (pair: [string, unknown]): pair is [string, string] => typeof pair[1] === "string";
  if (entries.some((pair) => OURS.has(pair[0]) && !isText(pair))) return null;
  return Object.fromEntries(entries.filter(isText));
}

function firewallsIn(shown: unknown): readonly Firewall[] | null {
  if (!Array.isArray(shown)) return null;
  const firewalls: Firewall[] = [];
  for (const one of shown) {
    const { id, status } = fieldsOf(one);
    if (!isId(id)) return null;
    firewalls.push({ id, isApplied: status === "applied" });
  }
  return firewalls;
}

function inNetwork(entry: unknown): InNetwork | null {
  const { ip, network } = fieldsOf(entry);
  return typeof ip === "string" ? { ip, network: isId(network) ? network : null } : null;
}

const NO_FIELDS: Fields = {};
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : NO_FIELDS);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
/** One that a number holds exactly (S157). */
const isId = (value: unknown): value is number => typeof value === "number" && Number.isSafeInteger(value) && value > 0;
