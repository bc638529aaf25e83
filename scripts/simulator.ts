// `npm run simulator`: the simulated Hetzner Cloud alone, for the hcloud command line or for curl.
import { createSimulator } from "../test/simulator/simulator.ts";
import { cloudFileIn, serveCloud } from "./kept-cloud.ts";
import type { SimulatorServer } from "./simulator-server.ts";

const DEFAULT_PORT = 8788;

function portFromEnvironment(): number {
  const text = process.env["SIM_PORT"] ?? String(DEFAULT_PORT);
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`SIM_PORT is no port: ${text}`);
}

function stopOnSignal(server: SimulatorServer): void {
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      // A second Ctrl-C while the first is being obeyed changes nothing.
      if (stopping) return;
      stopping = true;
      server.close().catch(fail);
    });
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

try {
  // In memory, unless a folder is named.
  const stateDir = process.env["STATE_DIR"] ?? "";
  const file = stateDir === "" ? undefined : cloudFileIn(stateDir);
  const server = await serveCloud(createSimulator(), portFromEnvironment(), file);
  stopOnSignal(server);
  console.log(`simulator ready on ${server.url}/v1${file === undefined ? "" : `, kept in ${file}`}`);
} catch (error) {
  fail(error);
}
