import { expect } from "vitest";
import { servers, type Mayfly } from "./mayfly.ts";

/** Asks the simulator behind mayfly's back, as a person at the provider's console does; answers its JSON, if any. */
export async function behind(mayfly: Mayfly, method: string, path: string, body?: object): Promise<unknown> {
  const init = { method, headers: { Authorization: "Bearer any" }, ...(body && { body: JSON.stringify(body) }) };
  const answer = await mayfly.simulator.fetch(new Request(`https://sim/v1${path}`, init));
  expect(answer.ok).toBe(true);
  return answer.status === 204 ? null : answer.json();
}

type Ask = (request: Request) => Promise<Response>;

/** Stands between mayfly and the simulator; answers the way to the simulator itself. */
export function between(mayfly: Mayfly, change: (request: Request, real: Ask) => Promise<Response>): Ask {
  const real = mayfly.simulator.fetch.bind(mayfly.simulator);
  Object.assign(mayfly.simulator, { fetch: (request: Request) => change(request, real) });
  return real;
}

/** All that the provider's rate limit has left, from here on. */
export function leave(mayfly: Mayfly, remaining: number): void {
  between(mayfly, async (request, real) => {
    const answer = await real(request);
    answer.headers.set("RateLimit-Remaining", String(remaining));
    return answer;
  });
}

/** Makes calls to the provider take that long on the one clock, each or those that are named; each is counted and told. */
export function slow(
  mayfly: Mayfly,
  milliseconds: number,
  onCall: (call: number) => unknown = () => {},
  isSlow: (request: Request) => boolean = () => true,
): void {
  let calls = 0;
  between(mayfly, async (request, real) => {
    if (isSlow(request)) mayfly.advance(milliseconds);
    await onCall(++calls);
    return real(request);
  });
}

/** What a watched provider saw of the calls that came to it. */
export interface Flight {
  /** As many were under way at once. */
  most: number;
  /** In the order in which they came, and in which they were answered. */
  readonly begun: string[];
  readonly ended: string[];
}

/** Lets each call to the provider take some turns of the event loop, by its number, and watches how many are under way at once. */
export function watchFlight(mayfly: Mayfly, turnsOf: (call: number) => number = () => 3): Flight {
  const flight: Flight = { most: 0, begun: [], ended: [] };
  let underWay = 0;
  between(mayfly, async (request, real) => {
    const what = `${request.method} ${new URL(request.url).pathname.replace("/v1/", "")}`;
    flight.begun.push(what);
    underWay += 1;
    flight.most = Math.max(flight.most, underWay);
    for (let turn = turnsOf(flight.begun.length); turn > 0; turn--) await scheduler.wait(1);
    try {
      return await real(request);
    } finally {
      underWay -= 1;
      flight.ended.push(what);
    }
  });
  return flight;
}

/** How many servers, firewalls, networks and SSH keys the provider holds. */
export function held(mayfly: Mayfly): number[] {
  const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
  return [servers(mayfly).length, firewalls.length, networks.length, ssh_keys.length];
}
