/** The simulated provider as one history meets it: on the history's clock, with faults that are counted as they strike. */
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { ConnectionDropped, type Fault } from "../../simulator/simulator.ts";
import { strike, type Books } from "../judge/books.ts";
import type { ProviderFault } from "../history.ts";
import { CALLS } from "./calls.ts";
import { isLie, openLies } from "./lies.ts";
import { isOddity, openOddities } from "./oddities.ts";
import { meet } from "../tally.ts";
import { watchCall } from "../judge/watch.ts";

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

/** Whoever meets one of these need not try the next machine. */
const CONCERNS_ALL = new Set(["rate_limited", "unauthorized"]);

/** What a call takes on our clock. */
const CALL_MS = 100;

/** What a person lets pass before the next try. */
const BREATH_MS = 5000;
/** More than all faults of a history last. */
const MOST_TRIES = 200;

export type Provider = ReturnType<typeof openProvider>;

export function openProvider(clock: Clock, books: Books) {
  const simulator = createDrivenSimulator({ now: () => clock.now + clock.skew });
  const lies = openLies(simulator, clock, books);
  const oddities = openOddities({ ...simulator, fetch: (request) => lies.fetch(request) }, clock, books);
  const installed: { on: ProviderFault["on"]; name: string; fault: Fault; hits: number }[] = [];

  /** Counts what has struck by now; `id` is the one machine that the call was about. */
  function countHits(id: number | null): void {
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
      if (id !== null && !CONCERNS_ALL.has(known.name)) books.hit.add(id);
      else books.wide.add(known.name);
    }
  }

  return {
    simulator,
    oddities,
    lies,
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
        countHits(null);
        const [, id] = /\/servers\/(\d+)/.exec(path) ?? [];
        if (id !== undefined) lies.handled(Number(id));
        if (answer?.ok) return;
        last = (await answer?.text()) ?? last;
        clock.now += BREATH_MS;
      }
      throw new Error(`a person could not ${method} ${path}: ${last}`);
    },
    /** A call that an installation sends. */
    async call(request: Request, installation: string): Promise<Response> {
      clock.now += CALL_MS;
      const seen = watchCall(simulator, books, clock, request, installation);
      const [, id] = /\/servers\/(\d+)/.exec(request.url) ?? [];
      const about = id === undefined ? null : Number(id);
      try {
        const response = await oddities.ask(request, about);
        books.trace.push(`${request.method} ${new URL(request.url).pathname} ${response.status}`);
        return response;
      } finally {
        seen();
        if (installed.length > 0) countHits(about);
      }
    },
  };
}

function notCut(error: unknown): undefined {
  if (!(error instanceof ConnectionDropped)) throw error;
}
