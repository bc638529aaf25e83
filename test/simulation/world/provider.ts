/** The simulated provider as one history meets it: on the history's clock, with faults that are counted as they strike. */
import { firewallsOf } from "./truth.ts";
import * as z from "zod";
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { ConnectionDropped, type Fault } from "../../simulator/simulator.ts";
import { CONCERNS_ALL, noteWide, strike, type Books } from "../judge/books.ts";
import type { ProviderFault } from "../history.ts";
import { CALLS } from "./calls.ts";
import { isLie, openLies } from "./lies.ts";
import { isOddity, openOddities } from "./oddities.ts";
import type { WatchCall } from "../judge/watch.ts";
import { meet } from "../tally.ts";

/** Unix milliseconds, and how far the provider's clock is ahead of it, and the tick that is played, if it is one ahead of its time. */
export interface Clock {
  now: number;
  skew: number;
  ahead: number;
}

const EFFECTS: Partial<Record<ProviderFault["effect"], Fault>> = {
  cut_before: { drop: "before" },
  cut_after: { drop: "after" },
  conflict: { status: 409 },
  resource_unavailable: { status: 412 },
  locked: { status: 423 },
  rate_limited: { status: 429 },
  unauthorized: { status: 401 },
  server_error: { status: 500 },
  unavailable: { status: 503 },
  hidden_1m: { hide_from_list_seconds: 60 },
  hidden_20m: { hide_from_list_seconds: 1200 },
  action_error: { action_error: true },
  delete_error: { action_error: true },
};

const EFFECTS_BY_NAME = new Map<string, Fault>(Object.entries(EFFECTS));

/** What a call takes on our clock. */
const CALL_MS = 100;

/** What a person lets pass before the next try. */
const BREATH_MS = 5000;
/** More than all faults of a history last. */
const MOST_TRIES = 200;

const entry = z.object({ id: z.number() });

export type Provider = ReturnType<typeof openProvider>;

export function openProvider(clock: Clock, books: Books, watchCall: WatchCall) {
  const simulator = createDrivenSimulator({ now: () => clock.now + clock.skew });
  const lies = openLies(simulator, clock, books);
  const oddities = openOddities({ ...simulator, fetch: (request) => lies.fetch(request) }, clock, books);
  /** Until when lists do not show a server, by its id. */
  const unlisted = new Map<number, number>();
  const installed: { on: ProviderFault["on"]; name: string; fault: Fault; hits: number }[] = [];

  /** Counts what has struck by now; `id` is the one machine that the call was about. */
  function countHits(id: number | null, request: Request): string[] {
    const struck: string[] = [];
    const { faults } = simulator.state();
    for (const [index, known] of installed.entries()) {
      const { after = 0, times = 1 } = known.fault;
      const hits = Math.min(Math.max((faults[index]?.seen ?? 0) - after, 0), times);
      if (hits === known.hits) continue;
      // What hides a machine is at work until it is shown again.
      const lasts = (known.fault.hide_from_list_seconds ?? 0) * 1000;
      strike(books, known.name, clock.now + clock.ahead + lasts, hits - known.hits);
      meet(books.met, `struck ${known.on}`, hits - known.hits);
      known.hits = hits;
      struck.push(known.name);
      if (id !== null) books.hits.set(id, (books.hits.get(id) ?? 0) + 1);
      if (id !== null && !CONCERNS_ALL.has(known.name)) books.hit.add(id);
      else noteWide(books, known.name, request);
    }
    return struck;
  }

  return {
    simulator,
    oddities,
    lies,
    /** Whether a server was there, or not there, at another time than it seemed to be. */
    isOdd: (id: number): boolean => oddities.odd(id) || lies.denied(id),
    /** Whether lists do not show a server that is there. */
    isUnseen: (id: number): boolean => oddities.isHiding(id) || (unlisted.get(id) ?? 0) > clock.now,
    fault(order: ProviderFault): void {
      const { on, effect, skip, times } = order;
      if (isLie(effect)) return lies.order(order, effect);
      if (isOddity(effect)) return oddities.order({ effect, skip, times });
      const fault = { ...CALLS[on], ...EFFECTS[effect], after: skip, times };
      simulator.fault(fault);
      installed.push({ on, name: effect, fault, hits: 0 });
    },
    async heal(): Promise<void> {
      simulator.clearFaults();
      installed.length = 0;
      unlisted.clear();
      lies.heal();
      await oddities.heal();
    },
    /** A person's call, who tries until it is done. */
    async byHand(method: string, path: string, body: unknown): Promise<void> {
      const url = `https://api.hetzner.cloud/v1${path}`;
      let last = "nothing";
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const headers = { Authorization: "Bearer a-person" };
        const request = new Request(url, { method, headers, body: JSON.stringify(body) });
        const answer = await simulator.fetch(request).catch(notCut);
        countHits(null, request);
        const [, id] = /\/servers\/(\d+)/.exec(path) ?? [];
        if (id !== undefined) lies.handled(Number(id));
        if (answer?.ok) return;
        last = (await answer?.text()) ?? last;
        clock.now += BREATH_MS;
      }
      throw new Error(`a person could not ${method} ${path}: ${last}`);
    },
    /** A call that an installation sends. To `reads` are added the servers that it is shown. */
    async call(request: Request, installation: string, reads: Set<number>): Promise<Response> {
      clock.now += CALL_MS;
      const seen = await watchCall(simulator, request, installation, reads);
      const [, id] = /\/servers\/(\d+)/.exec(request.url) ?? [];
      const about = id === undefined ? null : Number(id);
      const before = new Set(simulator.state().servers.map((one) => one.id));
      try {
        const response = await oddities.ask(request, about);
        books.trace.push(`${request.method} ${new URL(request.url).pathname} ${response.status}`);
        if (request.method === "GET" && response.ok) for (const one of await shownIn(response)) reads.add(one);
        return response;
      } finally {
        seen();
        const struck = installed.length > 0 ? countHits(about, request) : [];
        for (const one of simulator.state().servers) {
          if (before.has(one.id)) continue;
          if (struck.includes("action_error")) books.unfinished.set(one.id, firewallsOf(one));
          for (const name of struck) {
            const seconds = EFFECTS_BY_NAME.get(name)?.hide_from_list_seconds ?? 0;
            if (seconds > 0) unlisted.set(one.id, clock.now + seconds * 1000);
          }
        }
      }
    },
  };
}

const shown = z.object({ server: entry.nullish(), servers: z.array(entry).nullish() });

/** Ids of the servers that an answer shows. */
async function shownIn(response: Response): Promise<number[]> {
  const { server, servers } = shown.parse(await response.clone().json());
  return [...(server ? [server] : []), ...(servers ?? [])].map(({ id }) => id);
}

function notCut(error: unknown): undefined {
  if (!(error instanceof ConnectionDropped)) throw error;
}
