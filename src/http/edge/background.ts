import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";

/** A caller that hangs up changes nothing: what was begun is finished and recorded. Whoever awaits it meets its failure. */
export const keepAlive = (c: Context<AppEnv>, work: Promise<unknown>): void =>
  c.executionCtx.waitUntil(Promise.allSettled([work]));

/** Lets work go on after the answer; that it failed, only the log is told, and the sweep takes it up. */
export const inBackground = (c: Context<AppEnv>, work: Promise<unknown>): void =>
  c.executionCtx.waitUntil(
    work.catch((error: unknown) => {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
      c.get("scope").log({ event: "error", request_id: c.get("requestId"), error: message });
    }),
  );
