import type { Context } from "hono";
import * as z from "zod";
import { createMachine } from "../../lifecycle/create.ts";
import { nameOfKey } from "../../auth/idempotency-key.ts";
import { mayCreate } from "../../lifecycle/plan.ts";
import { lookAgain } from "../../lifecycle/look-again.ts";
import { waitWhileCreating } from "../../lifecycle/refresh.ts";
import { done } from "../../lifecycle/refusal.ts";
import { IGNORED, isIgnored } from "../../machine/cloud-init.ts";
import { checkName, idOf } from "../../machine/name.ts";
import { silenceOf } from "../../reaper/health.ts";
import { inBackground } from "../edge/background.ts";
import type { AppEnv, Scope } from "../edge/app-env.ts";
import { needsBody } from "../edge/body.ts";
import { json, problems } from "../edge/openapi.ts";
import { maker } from "../edge/owner.ts";
import { unwrap, validOf } from "../edge/problem.ts";
import { keyHeader, ownerQuery, wait } from "../edge/schemas.ts";
import { machineBody, orderOf, type MachineBody } from "./body.ts";
import { candidate, candidateJson } from "../edge/candidates.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { machineJson, toJson } from "./json.ts";

const body = { content: { "application/json": { schema: machineBody } }, required: true };
const query = ownerQuery.extend({ wait });
const createdJson = z.object({
  machine: machineJson
    .extend({ candidates: z.array(candidate).meta({ description: "empty for a repeat" }) })
    .meta({ id: "CreatedMachine" }),
  // Whoever is roused by `warning` is so by silent sweeps, and by nothing else: a list beside it has all there is to say.
  warning: z.string().optional().meta({ description: "the sweeps are silent; health tells more" }),
  warnings: z
    .array(z.string())
    .optional()
    .meta({ description: "all that may not be as it was meant, that included; left out where there is nothing" }),
});

const put = createRoute({
  method: "put",
  path: "/v1/machines/{ref}",
  summary: "Create a machine under your own name for it; a repeat is the same machine",
  middleware: needsBody,
  request: { params: z.object({ ref: z.string() }), query, body },
  responses: {
    200: json(createdJson, "A repeat: the machine that is there"),
    201: json(createdJson, "A new machine"),
    ...problems,
  },
});
const post = createRoute({
  method: "post",
  path: "/v1/machines",
  summary: "Create a machine under a name that is made for you, always the same of one Idempotency-Key",
  middleware: needsBody,
  request: { query, headers: keyHeader, body },
  responses: {
    200: json(createdJson, "A repeat by its Idempotency-Key: the machine that is there, or has ended since"),
    201: json(createdJson, "A new machine"),
    ...problems,
  },
});

const asPut = (name: string): string =>
  `A machine may have been made as ${name}, and a repeat of this call makes another. Send the same body as PUT /v1/machines/${name}: that cannot double it. With an Idempotency-Key this call cannot either.`;

/** `PUT /v1/machines/{name}` and `POST /v1/machines`. */
export function createRoutes(app: Api): void {
  app.openapi(put, async (c) => {
    const name = validOf(checkName(c.req.valid("param").ref));
    const { answer, isNew } = await create(c, { name, asked: c.req.valid("query"), sent: c.req.valid("json") });
    return c.json(answer, isNew ? 201 : 200);
  });

  app.openapi(post, async (c) => {
    const key = c.req.valid("header")["Idempotency-Key"];
    const name = key === undefined ? madeName(c) : await nameOfKey(key);
    if (key === undefined) c.set("insteadOfRepeating", asPut(name));
    const call = { name, asked: c.req.valid("query"), sent: c.req.valid("json") };
    const { answer, isNew } = await create(c, { ...call, isOnce: key !== undefined });
    return c.json(answer, isNew ? 201 : 200);
  });
}

/** The name that a machine gets whose caller gives it none: another for each call. */
export const madeName = (c: Context<AppEnv>): string => `m-${c.get("requestId").slice(-12)}`;

/** A call as its route has read it. */
interface Call {
  readonly name: string;
  /** Its name is an Idempotency-Key's. */
  readonly isOnce?: boolean;
  readonly asked: z.infer<typeof query>;
  readonly sent: MachineBody;
}

async function create(c: Context<AppEnv>, { name, isOnce = false, asked, sent }: Call) {
  const scope = c.get("scope");
  const principal = maker(c, asked.owner);
  c.set("making", name);
  const order = orderOf(sent);
  // Nobody pays with a sweep for what is refused at sight.
  const { request } = unwrap(mayCreate(scope, principal.policy, order));
  const begin = () => createMachine(scope, principal, name, order, { isOnce });
  const work = begin();
  const warning = await sweepIfSilent(c, scope, work);
  const { row: created, isNew, candidates } = unwrap(await work);
  // What an invocation may spend, the sweep for a dead cron needs; it does not go on waiting as well.
  const waitMs = warning === null ? asked.wait * 1000 : 0;
  const takeOver = async () => {
    const again = await begin();
    return again.ok ? done(again.value.row) : again;
  };
  const waited = unwrap(await waitWhileCreating(scope, created, waitMs, takeOver));
  const { row, observed } = isNew ? { row: waited, observed: null } : await lookAgain(scope, waited);
  c.set("machine", idOf(row.uid));
  c.set("outcome", isNew ? "created" : "repeated");
  c.header("Location", `/v1/machines/${idOf(row.uid)}`);
  const machine = { ...toJson(row, scope.now(), observed), candidates: candidates.map(candidateJson) };
  const warnings = [...(warning === null ? [] : [warning]), ...(isIgnored(request.cloudInit) ? [IGNORED] : [])];
  const answer = {
    machine,
    ...(warning === null ? {} : { warning }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  return { answer, isNew };
}

/**
 * Where cron is dead, whoever creates pays with a sweep, so that machines end at least as often as they begin: when the create is
 * over, with what it has left of the invocation.
 */
async function sweepIfSilent(c: Context<AppEnv>, scope: Scope, work: Promise<unknown>): Promise<string | null> {
  const reasons = await silenceOf(scope.reads, scope.now());
  if (reasons.length === 0) return null;
  const sweep = async () => {
    await Promise.allSettled([work]);
    // A sweep asks the provider too, and an account over its rate is not to start one after the other.
    if ((await scope.withinRate()).ok) await scope.sweep({ startedBy: "create", dryRun: false });
  };
  inBackground(c, sweep());
  return `${reasons.join("; ")}: machines may outlive their leases until sweeps run again`;
}
