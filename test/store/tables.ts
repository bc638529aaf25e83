/** Rows put into real D1 as they are, and the store over it. */
import { env } from "cloudflare:workers";
import type { MachineRow } from "../../src/machine/machine.ts";
import { ratesOf, UNKNOWN_PRICES } from "../../src/machine/money.ts";
import type { NextTry } from "../../src/store/machine-tries.ts";
import type { ResourceRow } from "../../src/machine/resource.ts";
import type { Param } from "../../src/store/db.ts";
import { insertInto, statementOf } from "../../src/store/statements.ts";
import { openStore, type StoreMode } from "../../src/store/store.ts";
import { rowOf } from "../machine/fixtures.ts";
import { copyOf } from "../simulation/world/copies.ts";
import { onD1 } from "../simulation/world/database.ts";
import { HOUR, NOW } from "../mayfly.ts";
import { watched } from "../plans.ts";

/** The whole database as a value. */
export const everything = async () => Object.fromEntries(await copyOf(onD1(env.DB)));

/** A store, and how many statements it says it has asked for. */
export function countedStore(mode?: StoreMode) {
  let count = 0;
  const store = openStore(watched(env.DB), (more) => (count += more), mode);
  return { store, count: () => count };
}

export const store = countedStore().store;

/** An active machine of an hour's lease, if nothing else is said. */
export const machineRowOf = (change: Partial<MachineRow> = {}): MachineRow =>
  rowOf({
    uid: "active",
    name: change.uid ?? "active",
    providerId: null,
    requestedAt: NOW,
    expiresAt: NOW + HOUR,
    labelExpiresAt: NOW + HOUR,
    maxUntil: NOW + 24 * HOUR,
    ...change,
  });

/** A try at a price that nobody knows, and that no limit is held against. */
export const anyTry = (now: number, until: number): NextTry => ({
  now,
  until,
  tokenId: null,
  priced: { ...ratesOf(UNKNOWN_PRICES), hasIpv4: true },
  limits: { months: [], microEurPerHour: null },
});

/** A firewall that is there and past its end, if nothing else is said. */
export const resourceRowOf = (change: Partial<ResourceRow> = {}): ResourceRow => ({
  uid: "firewall",
  labelUid: null,
  owner: "tok.ci",
  name: change.uid ?? "firewall",
  provider: "hetzner",
  providerName: "any",
  providerId: null,
  installation: env.INSTALLATION,
  phase: "active",
  reason: null,
  spec: { kind: "firewall", rules: [], denyAll: true },
  labels: {},
  requestedAt: NOW,
  createdAt: NOW,
  expiresAt: NOW,
  deleteRequestedAt: null,
  idleSince: null,
  missingSince: null,
  deletedAt: null,
  attempts: 0,
  nextTryAt: null,
  lastError: null,
  ...change,
});

export const putMachine = (change: Partial<MachineRow> = {}) => put("machines", machineRowOf(change));

export async function putResource(change: Partial<ResourceRow> = {}): Promise<void> {
  const row = resourceRowOf(change);
  await put("resources", { ...row, kind: row.spec.kind });
}

export async function put(table: string, row: object): Promise<void> {
  const columns = Object.entries(row).map(([key, value]) => [toSnakeCase(key), toParam(value)] as const);
  await onD1(env.DB).rows(statementOf(insertInto(table, Object.fromEntries(columns))));
}

const toSnakeCase = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const toParam = (value: unknown): Param => {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" || typeof value === "number" || value === null ? value : JSON.stringify(value);
};
