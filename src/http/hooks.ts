import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import * as z from "zod";
import { faultInSignature } from "../auth/hook-signature.ts";
import { hookCaller } from "../auth/hook-caller.ts";
import { DEFAULT_POLICY, tokenPolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import { carryOut, carryOutEnd } from "../hooks/carry-out.ts";
import { originOf, readEvent, type HookEvent } from "../hooks/event.ts";
import type { Hook } from "../hooks/hook.ts";
import { takeOn } from "../hooks/take-on.ts";
import { DELIVERY_ACTS, type DeliveryRow } from "../machine/delivery.ts";
import { idOf } from "../machine/name.ts";
import { silenceOf } from "../reaper/health.ts";
import type { AppEnv, Scope } from "./edge/app-env.ts";
import { inBackground } from "./edge/background.ts";
import { decode, parseJson } from "./edge/body.ts";
import { json, problems } from "./edge/openapi.ts";
import { HttpProblem, validOf } from "./edge/problem.ts";
import { type Api, createRoute } from "./edge/route.ts";

/** GitHub sends up to 25 MB; of what starts or ends machines nothing is so large. */
const MAX_EVENT_BYTES = 1024 * 1024;

const limitEvent = bodyLimit({
  maxSize: MAX_EVENT_BYTES,
  onError: () => {
    throw new HttpProblem("too_large", {
      detail: `The event is larger than ${MAX_EVENT_BYTES} bytes.`,
      next: "Send such events elsewhere: nothing here goes by them.",
    });
  },
});

const act = z.enum(DELIVERY_ACTS);
const taken = z.object({
  delivery: z.string().meta({ description: "the sender's own id for the event" }),
  did: z
    .array(
      z.object({
        rule: z.int().nullable().meta({ description: "from 0; null = the event said it itself" }),
        do: act,
        name: z.string(),
        machine: z.string().nullable().meta({ description: "the machine that has the name by now" }),
      }),
    )
    .meta({ description: "what was taken on, and is carried out from now on; empty where nothing fits" }),
});

const post = (openScope: MiddlewareHandler<AppEnv>) =>
  createRoute({
    method: "post",
    path: "/v1/hooks/{hook}",
    summary: "Take a signed event, whose rules create, renew or destroy machines",
    security: [],
    readsBody: true,
    middleware: [limitEvent, openScope] as const,
    request: { params: z.object({ hook: z.string() }) },
    responses: { 202: json(taken, "It is written down; nothing of it is lost from here on"), ...problems },
  });

/** `POST /v1/hooks/{hook}`. */
export function hookRoute(app: Api, openScope: MiddlewareHandler<AppEnv>): void {
  app.openapi(post(openScope), async (c) => {
    const scope = c.get("scope");
    const hook = scope.hooks.get(c.req.valid("param").hook);
    if (hook === undefined)
      throw new HttpProblem("not_found", {
        detail: "There is no such hook.",
        next: "Have an admin add it to mayfly.config.ts, or correct the address that the sender has.",
      });
    const event = await signedEvent(c, hook);
    const policy = tokenPolicy(scope.policies, hook.policy) ?? DEFAULT_POLICY;
    const caller = hookCaller({ ...event, hook: hook.name }, policy);
    c.set("principal", caller);
    const isOurs = originOf(hook, event) === "taken";
    const all = isOurs ? validOf(await takeOn(scope.onWordOf(caller), hook, event)) : [];
    const rows = all.map(({ row }) => row).filter(({ state }) => state === "pending" || state === "done");
    if (rows.length > 0) inBackground(c, carryOutAll(scope, caller, rows));
    c.set("outcome", rows.length > 0 ? "taken_on" : "ignored");
    const did = all
      .filter(({ row }) => rows.includes(row))
      .map(({ row, machineUid }) => ({
        rule: row.rule,
        do: row.act,
        name: row.name,
        machine: machineUid && idOf(machineUid),
      }));
    return c.json({ delivery: event.delivery, did }, 202);
  });
}

/** Reads an event whose signature is right; before that nothing of it is looked at but its size. */
async function signedEvent(c: Context<AppEnv>, hook: Hook): Promise<HookEvent> {
  const scope = c.get("scope");
  const secrets = scope.hookSecrets(hook);
  const { headers } = c.req.raw;
  const bytes = await c.req.arrayBuffer();
  const fault = await faultInSignature(hook.sender, secrets, { headers, body: new Uint8Array(bytes) }, scope.now());
  if (fault !== null)
    throw new HttpProblem("unauthorized", {
      detail: `The event is not signed as this hook's events are: \`${fault.field}\` ${fault.rule}.`,
      ...fault,
      next: "Have the sender sign with the hook's secret; an admin knows which setting holds it.",
    });
  const event = readEvent(hook, headers, payloadOf(bytes), {
    requestId: c.get("requestId"),
    now: scope.now(),
  });
  if (originOf(hook, event) === "foreign")
    throw new HttpProblem("forbidden", {
      detail: "The event is signed, and comes from elsewhere than this hook takes events from.",
      rule: `must come from a ${hook.sources?.by ?? "source"} that the hook's entry lists`,
      next: "Have an admin add its id to the entry, or take the webhook away there.",
    });
  return event;
}

const object = z.record(z.string(), z.unknown());

/** JSON whatever the content type says, as everywhere; only what GitHub sends as a form is none. */
function payloadOf(bytes: ArrayBuffer): unknown {
  const text = decode(bytes);
  const notJson = (detail: string) =>
    new HttpProblem("malformed", { detail, next: "Set the webhook's content type to application/json." });
  if (text.startsWith("payload=")) throw notJson("The event came as a form.");
  const { success, data } = object.safeParse(parseJson(text));
  if (!success) throw notJson("The event is no JSON object.");
  return data;
}

/** Behind the answer: what was taken on, one after the other; where cron is dead, whoever creates pays with a sweep. */
async function carryOutAll(scope: Scope, caller: Principal, rows: readonly DeliveryRow[]): Promise<void> {
  for (const row of rows) await (row.act === "destroy" ? carryOutEnd(scope, row) : carryOut(scope, row));
  const silence = await silenceOf(scope.reads, scope.now());
  if (silence.length === 0 || rows.every((row) => row.act !== "create")) return;
  // A sweep asks the provider too, and an account over its rate is not to start one after the other.
  if ((await scope.openFor(caller, null).withinRate()).ok) await scope.sweep({ startedBy: "create", dryRun: false });
}
