import { renderAction } from "./action-record.ts";
import { billOf, type Bill } from "./bill.ts";
import { parseFault, parsePricePercent, parseReset, parseStock } from "./control-input.ts";
import { ControlError } from "./errors.ts";
import type { Fault, FaultRecord } from "./faults.ts";
import { renderFirewall } from "./firewall-record.ts";
import { renderImage } from "./image-record.ts";
import { addImage, type ImageSeed } from "./image-seed.ts";
import { renderNetwork } from "./network-record.ts";
import type { Action, Firewall, Image, Network, Server, SshKey } from "./resources.ts";
import { restoreWorld, saveWorld } from "./saved-world.ts";
import { addServer, type ServerSeed } from "./seed.ts";
import { type ServerRecord } from "./server-record.ts";
import { renderServer } from "./server-view.ts";
import { changeStock, type StockChange, type StockEntry } from "./stock.ts";
import { createWorld, type RequestEntry, type ResetOptions, type World } from "./world.ts";

/** A server with what its create request carried besides. */
export interface ServerState extends Server {
  user_data: string | null;
  ssh_keys: (string | number)[];
}

/** Everything the simulator holds. */
export interface State {
  /** The simulator's clock, RFC 3339. */
  now: string;
  servers: ServerState[];
  actions: Action[];
  firewalls: Firewall[];
  /** Without Hetzner's own. */
  images: Image[];
  networks: Network[];
  ssh_keys: SshKey[];
  stock: StockEntry[];
  /** `seen` counts the requests that the fault was offered and that it matched. */
  faults: (Fault & { seen: number })[];
  limits: { servers: number | null; primary_ips: number | null };
  rate_limit: { limit: number; remaining: number };
  currency: string;
}

/** The controls of a simulator; the ones over HTTP do the same. All throw ControlError on bad input. */
export interface Controls {
  /** Back to an empty project: resources, clock, faults, request log and stock. Ids go on: the API never uses one twice. */
  reset(options?: ResetOptions): void;
  /** Everything it holds, hidden servers included. */
  state(): State;
  /** Every API request since the last reset, oldest first. */
  requests(): RequestEntry[];
  /** Moves the clock by that many seconds. */
  advance(seconds: number): void;
  /** Puts a server in as given and answers it as the API would. */
  addServer(seed: ServerSeed): Server;
  /** Puts an image in as given and answers it as the API would. */
  addImage(seed: ImageSeed): Image;
  /** Changes what the catalogue says and what a create meets; answers the changed entries. */
  stock(change: StockChange): StockEntry[];
  /** From now on new orders cost so many percent of the catalogue's prices; what lives is billed as it was ordered. */
  setPrices(percent: number): void;
  /** What Hetzner would charge by now for all servers since the last reset. */
  bill(): Bill;
  /** Installs a fault behind those already there. */
  fault(fault: Fault): void;
  clearFaults(): void;
  /** The simulator's clock in unix milliseconds. */
  now(): number;
  /** All of it as text, without the request log. */
  save(): string;
  /** Puts what was saved in the place of all there is. */
  restore(saved: string): void;
}

const YEAR_10000_MS = Date.UTC(10_000, 0);

/** The controls over the one world that `world()` gives and `replace` swaps for a new one. */
export function createControls(real_ms: () => number, world: () => World, replace: (next: World) => void): Controls {
  const now = (): number => real_ms() + world().advanced_ms;
  return {
    now,
    reset: (options = {}) => replace(createWorld(parseReset(options), real_ms(), world().next_id)),
    state: () => stateOf(world(), now()),
    requests: () => structuredClone(world().requests),
    advance: (seconds) => {
      const target_ms = now() + seconds * 1000;
      // Times are written with four digits for the year.
      if (!(target_ms >= 0 && target_ms < YEAR_10000_MS)) throw new ControlError("bad clock change: out of range");
      world().advanced_ms += seconds * 1000;
    },
    addServer: (seed) => renderServer(world(), addServer(world(), seed, now()), now()),
    addImage: (seed) => renderImage(addImage(world(), seed), now()),
    stock: (change) => changeStock(world().stock, parseStock(change)),
    setPrices: (percent) => {
      world().price_percent = parsePricePercent({ percent });
    },
    bill: () => billOf(world(), now()),
    fault: (fault) => {
      world().faults.push({ ...parseFault(fault), seen: 0 });
    },
    clearFaults: () => {
      world().faults = [];
    },
    save: () => saveWorld(world(), now()),
    restore: (saved) => replace(restoreWorld(saved, real_ms())),
  };
}

function serverState(world: World, record: ServerRecord, now_ms: number): ServerState {
  return { ...renderServer(world, record, now_ms), user_data: record.user_data, ssh_keys: record.ssh_keys };
}

function faultState({ fault, seen }: FaultRecord): Fault & { seen: number } {
  return { ...fault, seen };
}

function stateOf(world: World, now_ms: number): State {
  return {
    now: new Date(now_ms).toISOString(),
    servers: [...world.servers.values()].map((record) => serverState(world, record, now_ms)),
    actions: [...world.actions.values()].map((action) => renderAction(action, now_ms)),
    firewalls: [...world.firewalls.values()].map((record) => renderFirewall(world, record, now_ms)),
    images: [...world.images.values()].map((record) => renderImage(record, now_ms)),
    networks: [...world.networks.values()].map((record) => renderNetwork(record, now_ms)),
    ssh_keys: [...world.ssh_keys.values()].map(({ view }) => view),
    stock: [...world.stock.values()],
    faults: world.faults.map(faultState),
    limits: { servers: world.server_limit, primary_ips: world.primary_ip_limit },
    rate_limit: { limit: world.rate_limit.limit, remaining: world.rate_limit.remaining(now_ms) },
    currency: world.currency,
  };
}
