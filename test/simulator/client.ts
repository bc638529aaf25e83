// What the simulator's own tests share: a simulator on a clock that only they move, and a caller for it.
import { expect } from "vitest";
import { createSimulator, type Server, type SimulatorOptions } from "./simulator.ts";

/** Where the tests' clocks start. */
export const START_MS = Date.UTC(2026, 10, 15, 12);

/** A JSON answer, read. */
export interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** A simulator at a standstill and ways to call it with a good token. */
export function startSimulator(options: SimulatorOptions = {}) {
  const sim = createSimulator({ now: () => START_MS, ...options });

  async function send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await sim.fetch(
      new Request(`https://api.hetzner.cloud${path}`, {
        method,
        headers: { Authorization: "Bearer token", ...headers },
        ...(text !== undefined && { body: text }),
      }),
    );
    const answer = await response.text();
    const isJson = response.headers.get("Content-Type")?.includes("json") === true && answer !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(answer) : answer };
  }

  const create = (body: object) =>
    send("POST", "/v1/servers", { name: "a", server_type: "cx23", image: "debian-13", ...body });

  /** Starts to make an image of a server. */
  const snap = (server_id: number, body: object = {}) =>
    send("POST", `/v1/servers/${server_id}/actions/create_image`, body);

  /** Creates a server, lets it come up, and gives it. */
  async function running(name = "a"): Promise<Server> {
    const { status } = await create({ name });
    const server = sim.state().servers.find((candidate) => candidate.name === name);
    if (status !== 201 || server === undefined) throw new Error(`no server ${name}: ${status}`);
    sim.advance(2);
    return server;
  }

  /** The names that a list answers, in order. */
  async function names(path: string): Promise<string[]> {
    return namesOf((await send("GET", path)).body);
  }

  return { sim, send, create, snap, running, names };
}

/** Matches text with this part in it, as part of a bigger expectation. */
export function containing(part: string): unknown {
  return expect.stringContaining(part);
}

function namesOf(body: unknown): string[] {
  const lists = Object.values(body ?? {}).filter((value) => Array.isArray(value));
  return lists.flat().map((item: { name: string }) => item.name);
}
