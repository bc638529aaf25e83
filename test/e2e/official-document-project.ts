// A simulated project on a socket for clients that nobody here wrote. Whatever it answers is also held against
// Hetzner's document, where there is a copy.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { createSimulator, type Server, type ServerSeed, type Simulator } from "../simulator/simulator.ts";
import { judged, officialDocument } from "./official-document-judge.ts";

const SPEED = 20;
const START_MS = Date.UTC(2026, 10, 15, 12);

/** The project, empty at the beginning of each test. */
export interface ServedProject {
  sim: Simulator;
  /** Without a path. */
  url: () => string;
  /** Puts a whole server in, called "a" unless told otherwise. */
  given: (seed?: ServerSeed) => Server;
}

/** Registers the hooks of a suite with such a project; call it inside `describe`. */
export function servedProject(): ServedProject {
  // A clock that runs fast: these clients wait for actions in real time.
  const loaded_ms = Date.now();
  const simulator = createSimulator({ now: () => START_MS + (Date.now() - loaded_ms) * SPEED });
  const { sim, faults } = judged(simulator, officialDocument());
  let server: SimulatorServer;

  beforeAll(async () => {
    server = await serveSimulator(sim, 0);
  });

  afterAll(() => server.close());

  beforeEach(() => {
    sim.reset();
  });

  afterEach(() => {
    expect(faults.splice(0)).toEqual([]);
  });

  return {
    sim,
    url: () => server.url,
    given: (seed = {}) => sim.addServer({ name: "a", created: "2026-11-01T00:00:00+00:00", labels: {}, ...seed }),
  };
}
