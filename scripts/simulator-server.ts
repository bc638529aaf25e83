// The simulator on a real socket, where a dropped connection is a destroyed socket.
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { createServer, type Server } from "node:http";
import { ConnectionDropped, type Simulator } from "../test/simulator/simulator.ts";

/** A simulator that listens. */
export interface SimulatorServer {
  /** Without a path: the API is below `/v1`, the control plane below `/_sim`. */
  url: string;
  /** Cuts open connections and frees the port. */
  close(): Promise<void>;
}

/** Serves a simulator, or what else answers so, on the loopback address; port 0 takes a free one. Rejects in plain words when it cannot. */
export async function serveSimulator(simulator: Pick<Simulator, "fetch">, port: number): Promise<SimulatorServer> {
  const listener = listenerFor(simulator);
  // The listener answers its own failures; there is nothing to wait for.
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  await listen(server, port);
  const address = server.address();
  const actual = typeof address === "object" && address !== null ? address.port : port;
  return { url: `http://127.0.0.1:${actual}`, close: () => close(server) };
}

function listenerFor(simulator: Pick<Simulator, "fetch">) {
  const listener = async (
    request: Request,
    env: { incoming: { socket: { destroy(): unknown } } },
  ): Promise<Response> => {
    try {
      return await simulator.fetch(request);
    } catch (error) {
      // The only other rejection is the abort reason of a caller that has hung up: nobody is left to answer.
      if (!(error instanceof ConnectionDropped) && !request.signal.aborted) throw error;
      env.incoming.socket.destroy();
      return RESPONSE_ALREADY_SENT;
    }
  };
  return getRequestListener(listener, { overrideGlobalObjects: false });
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "the port is taken" : error.message;
      reject(new Error(`the simulator cannot listen on 127.0.0.1:${port}: ${reason}`, { cause: error }));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeAllConnections();
  });
}
