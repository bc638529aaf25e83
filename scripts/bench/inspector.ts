// V8's inspector of the Worker's isolate, and of no other that Miniflare runs beside it.
import { createServer } from "node:net";
import * as z from "zod";

const targets = z.array(z.object({ id: z.string(), webSocketDebuggerUrl: z.string() }));
const answer = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

export interface Inspector {
  /** What the isolate answers to a command of the Chrome DevTools protocol. */
  send(method: string, params?: object): Promise<unknown>;
  close(): void;
}

/** Connects to the isolate of the Worker `mayfly` of the workerd whose inspector listens there. */
export async function inspect(port: number): Promise<Inspector> {
  const listed = targets.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json());
  const target = listed.find(({ id }) => id.includes("core:user:mayfly"));
  if (target === undefined) throw new Error(`no isolate of mayfly among ${listed.map(({ id }) => id).join(", ")}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error(`no inspector at ${target.webSocketDebuggerUrl}`)), {
      once: true,
    });
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  socket.addEventListener("message", ({ data }) => {
    const told = answer.safeParse(JSON.parse(String(data)));
    if (!told.success) return;
    const { id, result, error } = told.data;
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  let sent = 0;
  return {
    send(method, params = {}) {
      const id = ++sent;
      const pending = Promise.withResolvers<unknown>();
      waiting.set(id, pending);
      socket.send(JSON.stringify({ id, method, params }));
      return pending.promise;
    },
    close: () => socket.close(),
  };
}

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("a server without a port");
  return address.port;
}
