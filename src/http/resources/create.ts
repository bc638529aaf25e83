import type { Context } from "hono";
import * as z from "zod";
import { createFirewallOn } from "../../lifecycle/create-on.ts";
import { createResource } from "../../lifecycle/create-resource.ts";
import { resourceId, type ResourceKind, type ResourceSpec } from "../../machine/resource.ts";
import type { AppEnv } from "../edge/app-env.ts";
import { needsBody } from "../edge/body.ts";
import { maker } from "../edge/owner.ts";
import { json, problems } from "../edge/openapi.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { duration, keyHeader, labels, ownerQuery, providerWord } from "../edge/schemas.ts";
import { machines } from "./actions.ts";
import { oneOf, PLURALS } from "./json.ts";
import { wrapped } from "./answers.ts";
import { firewallFields, firewallSpec, networkFields, networkSpec, sshKeySpec } from "./specs.ts";

const common = {
  name: z.string().meta({ example: "ci" }),
  ttl: duration.optional().meta({ example: "2h" }),
  labels: labels.optional(),
};
const sshKeyBody = z.strictObject({ ...common, public_key: z.string() });
const firewallBody = z.strictObject({
  ...common,
  ...firewallFields,
  machines: machines.optional().meta({ description: "names or ids of machines of yours that it is put on" }),
});
const networkBody = z.strictObject({ ...common, ...networkFields, region: providerWord.meta({ example: "fsn1" }) });

const routeOf = <Body extends z.ZodType>(kind: ResourceKind, schema: Body) =>
  createRoute({
    method: "post",
    path: `/v1/${PLURALS[kind]}`,
    summary: `Create a ${kind} under your own name for it; a repeat is the same one`,
    middleware: needsBody,
    request: {
      query: ownerQuery,
      headers: keyHeader,
      body: { content: { "application/json": { schema } }, required: true },
    },
    responses: {
      200: json(oneOf(kind), "A repeat: the one that is there"),
      201: json(oneOf(kind), "A new one"),
      ...problems,
    },
  });
const sshKey = routeOf("ssh_key", sshKeyBody);
const network = routeOf("network", networkBody);
const alone = routeOf("firewall", firewallBody);
const firewall = createRoute({
  ...alone,
  responses: {
    ...alone.responses,
    202: json(oneOf("firewall"), "It is there, and on its way to its machines; the same call again tells"),
  },
});

/** `POST /v1/ssh_keys`, `POST /v1/firewalls` and `POST /v1/networks`. */
export function createResourceRoutes(app: Api): void {
  app.openapi(sshKey, async (c) => {
    const body = c.req.valid("json");
    const { answer, isNew } = await create(c, c.req.valid("query").owner, body, () =>
      sshKeySpec(body.public_key, "public_key"),
    );
    return c.json(answer, isNew ? 201 : 200);
  });
  app.openapi(firewall, async (c) => {
    const body = c.req.valid("json");
    const { answer, isNew, isUnderWay } = await create(
      c,
      c.req.valid("query").owner,
      body,
      () => firewallSpec(body),
      body.machines,
    );
    if (isUnderWay) return c.json(answer, 202);
    return c.json(answer, isNew ? 201 : 200);
  });
  app.openapi(network, async (c) => {
    const body = c.req.valid("json");
    const { answer, isNew } = await create(c, c.req.valid("query").owner, body, () =>
      networkSpec(body.ip_range, body.region, "ip_range"),
    );
    return c.json(answer, isNew ? 201 : 200);
  });
}

async function create(
  c: Context<AppEnv>,
  owner: string | undefined,
  { name, ttl, labels: own }: z.infer<z.ZodObject<typeof common>>,
  specOf: () => ResourceSpec,
  on?: readonly string[],
) {
  const scope = c.get("scope");
  const principal = maker(c, owner);
  const spec = specOf();
  const order = { name, spec, labels: own, ttl, idempotencyKey: c.req.header("Idempotency-Key") };
  const created =
    on === undefined
      ? { ...unwrap(await createResource(scope, principal, order)), progress: "done" }
      : unwrap(await createFirewallOn(scope, principal, order, on));
  const { row, isNew, progress } = created;
  c.set("outcome", isNew ? "created" : "repeated");
  c.header("Location", `/v1/${PLURALS[spec.kind]}/${resourceId(spec.kind, row.uid)}`);
  return { answer: await wrapped(scope, row), isNew, isUnderWay: progress === "running" };
}
