// A way to a Worker on which a test may answer in its place.
import { serveSimulator } from "../../scripts/simulator-server.ts";
import type { Simulator } from "../simulator/simulator.ts";

type Answer = (request: Request) => Response | undefined;

export interface Door {
  readonly url: string;
  /** Asked first, from here on; what it does not answer the Worker does. */
  answer(first: Answer): void;
  /** The Worker answers everything. */
  pass(): void;
  close(): Promise<void>;
}

export async function openDoor(urlOf: () => string): Promise<Door> {
  let answer: Answer | undefined;
  const server = await serveSimulator(
    {
      async fetch(request) {
        const first = answer?.(request);
        if (first !== undefined) return first;
        const { pathname, search } = new URL(request.url);
        const { method, headers } = request;
        const body = method === "GET" ? {} : { body: await request.text() };
        const passed = await fetch(urlOf() + pathname + search, { method, headers, ...body });
        return new Response(passed.status === 204 ? null : await passed.text(), { status: passed.status });
      },
    },
    0,
  );
  return {
    url: server.url,
    answer: (first) => {
      answer = first;
    },
    pass: () => {
      answer = undefined;
    },
    close: () => server.close(),
  };
}

/** How often a machine was asked for at the provider. */
export const createsAt = (controls: Simulator): number =>
  controls.requests().filter(({ method, path }) => method === "POST" && path === "/v1/servers").length;

/** Answers 503 so often to what it is asked about, and then nothing more. */
export function refusing(times: number, isMeant: (request: Request) => boolean = () => true): Answer {
  let left = times;
  return (request) => {
    if (!isMeant(request) || left <= 0) return undefined;
    left -= 1;
    return new Response("{}", { status: 503, headers: { "Retry-After": "1" } });
  };
}
