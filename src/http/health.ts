import * as z from "zod";
import { Misconfigured } from "../machine/misconfigured.ts";
import { fullnessOf, healthOf } from "../reaper/health.ts";
import { StoreError } from "../store/db.ts";
import { json, problems } from "./edge/openapi.ts";
import { INSTALLATION_CHANGED } from "./edge/problem.ts";
import type { Host } from "./edge/app-env.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { timeOrNull } from "./edge/times.ts";

const healthJson = z
  .object({
    status: z.enum(["green", "red"]),
    reasons: z.array(z.string()),
    last_good_sweep_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Health" });
const route = createRoute({
  method: "get",
  path: "/healthz",
  summary: "Whether the reaper is seen to be alive (no token)",
  security: [],
  responses: { 200: json(healthJson, "It is"), 503: json(healthJson, "It is not, and why"), ...problems },
});

/** `GET /healthz`: 200 while the reaper is seen to be alive, else 503 with the reasons. Needs no token and names nobody. */
export function healthRoute(app: Api, host: Host): void {
  app.openapi(route, async (c) => {
    const opened = host.openHealth(c.env);
    c.set("meter", opened.meter);
    const { reasons, lastGoodSweepAt } = await examine(opened, host.now());
    const isGreen = reasons.length === 0;
    return c.json(
      {
        status: isGreen ? ("green" as const) : ("red" as const),
        reasons,
        last_good_sweep_at: timeOrNull(lastGoodSweepAt),
      },
      isGreen ? 200 : 503,
      isGreen ? {} : { "Retry-After": "60" },
    );
  });
}

async function examine({ reads, settings }: ReturnType<Host["openHealth"]>, now: number) {
  const reasons: string[] = [];
  let lastGoodSweepAt: number | null = null;
  try {
    const health = await healthOf(reads, now);
    reasons.push(...health.reasons);
    lastGoodSweepAt = health.lastGoodSweepAt;
    const { installations, plan } = settings();
    const known = await reads.settings.installation();
    if (known !== null && !installations.includes(known)) reasons.push(INSTALLATION_CHANGED);
    reasons.push(...fullnessOf(await reads.room.bytes(), plan));
  } catch (error) {
    if (error instanceof Misconfigured)
      reasons.push(error.isSetting ? `the setting ${error.key} ${error.rule}` : "the configuration cannot be used");
    else if (error instanceof StoreError) reasons.push(error.hint);
    else throw error;
  }
  return { reasons, lastGoodSweepAt };
}
