// The simulator as mayfly's own driver meets it. Clients that nobody here wrote may still ask for data centers, which
// Hetzner removed in 2026, and the simulator's own tests do; of the driver no request in any test may.
import { isObject } from "./simulator/json.ts";
import { createSimulator, type ApiRequest, type Simulator, type SimulatorOptions } from "./simulator/simulator.ts";

const forbidden: string[] = [];

/** A simulator that is asked by mayfly's driver alone. */
export function createDrivenSimulator(options: Pick<SimulatorOptions, "now">): Simulator {
  return createSimulator({ ...options, onRequest: watchRequest });
}

/** Remembers a request if it asks for data centers or sends one. */
export function watchRequest({ method, path, body }: ApiRequest): void {
  const sent: unknown = body === "" ? null : JSON.parse(body);
  if (/\/datacenters(?:\/|$)/.test(path)) forbidden.push(`${method} ${path}`);
  if (isObject(sent) && Object.hasOwn(sent, "datacenter")) forbidden.push(`${method} ${path} with a datacenter`);
}

/** Throws if any such request was made since the last time that somebody looked. */
export function refuseForbidden(): void {
  const made = forbidden.splice(0);
  if (made.length > 0) throw new Error(`mayfly used what Hetzner has removed: ${made.join(", ")}`);
}
