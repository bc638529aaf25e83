/** Where calls are held against their rates (docs/decisions/brakes.md). */
import { createMiddleware } from "hono/factory";
import { paceOf } from "../../lifecycle/pace.ts";
import { blockOf } from "../../machine/ip-range.ts";
import { HttpProblem } from "./problem.ts";
import type { AppEnv, Host } from "./app-env.ts";

const PERIOD_SECONDS = 60;

/** Refuses what comes too often from one address, before anything is looked at, its token least of all. */
export const brakeAddress = (host: Host) =>
  createMiddleware<AppEnv>(async (c, next) => {
    // Cloudflare sets it on every request from outside, whatever the caller said.
    const address = c.req.header("CF-Connecting-IP");
    const isWithin = address === undefined || (await host.openBrakes(c.env).byAddress(blockOf(address)));
    if (!isWithin && !isNeverRefused(c.req))
      throw new HttpProblem("limit_rate", {
        detail: "Too many calls have come from this address in the last minute.",
        rule: "must leave time between calls from one address",
        next: "Repeat the same call in a minute.",
        retryAfterSeconds: PERIOD_SECONDS,
      });
    await next();
  });

/**
 * What ends machines, what an admin does in an emergency, and events, whose senders share their addresses among all their users and do not
 * repeat what was refused: a neighbour behind the same address must not keep it from happening.
 */
const isNeverRefused = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "DELETE" ||
  (method === "POST" && /^\/v1\/(?:teardown|reap|sweeps|hooks\/[^/]+|holds\/[^/]+\/release)$/.test(path));

/** From here on the call counts for the account of its caller, as soon as it needs the provider. */
export const paceAccount = (host: Host) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const pace = paceOf(host.openBrakes(c.env).byAccount, c.get("principal"));
    c.set("scope", { ...c.get("scope"), ...pace });
    await next();
  });
