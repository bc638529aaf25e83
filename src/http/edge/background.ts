import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";

/** A caller that hangs up changes nothing: the whole call is finished and recorded, whatever route it is for. */
export const finishAlways = createMiddleware<AppEnv>(async (c, next) => {
  const work = next();
  c.executionCtx.waitUntil(Promise.allSettled([work]));
  await work;
});

/** Lets work go on after the answer; that it failed, only the log is told, and the sweep takes it up. */
export const inBackground = (c: Context<AppEnv>, work: Promise<unknown>): void =>
  c.executionCtx.waitUntil(
    work.catch((error: unknown) => {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
      c.get("scope").log({ event: "error", request_id: c.get("requestId"), error: message });
    }),
  );
