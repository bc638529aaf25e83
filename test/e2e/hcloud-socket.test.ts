// What a client meets on the socket: the rest of the simulator is the same with one or without.
import { describe, expect, it } from "vitest";
import { serveSimulator } from "../../scripts/simulator-server.ts";
import { createSimulator } from "../simulator/simulator.ts";

describe("the socket server", () => {
  it("says in plain words that a port is taken", async () => {
    const server = await serveSimulator(createSimulator(), 0);
    const port = Number(new URL(server.url).port);
    await expect(serveSimulator(createSimulator(), port)).rejects.toThrow("the port is taken");
    await server.close();
  });

  it("cuts the connection where a fault says so, and serves on", async () => {
    const sim = createSimulator();
    const server = await serveSimulator(sim, 0);
    sim.fault({ drop: "before" });
    const get = (): Promise<Response> => fetch(`${server.url}/v1/servers`, { headers: { Authorization: "Bearer x" } });
    await expect(get()).rejects.toThrow("fetch failed");
    const { status } = await get();
    await server.close();
    expect(status).toBe(200);
  });

  it("survives a caller that hangs up during a delay", async () => {
    const sim = createSimulator();
    const server = await serveSimulator(sim, 0);
    sim.fault({ path: "^/v1/servers$", delay_ms: 3_600_000 });
    const url = `${server.url}/v1/servers`;
    await expect(fetch(url, { signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
    const { status } = await fetch(url);
    await server.close();
    expect(status).toBe(401);
  });
});
