import * as z from "zod";
import { findMachine } from "../../lifecycle/find.ts";
import { forbidName, releaseMachine } from "../../lifecycle/release.ts";
import { isLive } from "../../machine/machine.ts";
import { idOf } from "../../machine/name.ts";
import type { Refusal } from "../../lifecycle/refusal.ts";
import { figures } from "../edge/counted-machines.ts";
import { json, problems } from "../edge/openapi.ts";
import { actor } from "../edge/owner.ts";
import { unwrap } from "../edge/problem.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { duration, ownerQuery, refParam } from "../edge/schemas.ts";
import { one, toJson } from "./json.ts";
import { noSuchMachine } from "./meant.ts";

const notKept = z
  .object({ code: z.string(), detail: z.string(), policy: z.string().optional(), rule: z.string().optional(), figures })
  .optional()
  .meta({ description: "why it was not kept, though that had been asked for" });

const destroy = createRoute({
  method: "delete",
  path: "/v1/machines/{ref}",
  summary: "Destroy a machine by name or id",
  request: {
    params: refParam,
    query: ownerQuery.extend({
      outcome: z.enum(["success", "failure"], "must be success or failure").optional(),
      tombstone: duration.optional(),
    }),
  },
  responses: {
    200: json(
      one.extend({ kept_until: z.iso.datetime().optional(), not_kept: notKept }),
      "Destroyed; or kept until then, as it was asked for",
    ),
    202: json(one.extend({ not_kept: notKept }), "It will be: the sweep goes on with it"),
    204: { description: "There was none" },
    ...problems,
  },
});
const notKeptJson = ({ code, message, policy, rule, figures: sums }: Refusal): z.infer<typeof notKept> => ({
  code,
  detail: message,
  policy,
  rule,
  figures: sums,
});

/** `DELETE /v1/machines/{name or id}`. */
export function destroyRoutes(app: Api): void {
  app.openapi(destroy, async (c) => {
    const scope = c.get("scope");
    const { ref } = c.req.valid("param");
    const { owner, outcome, tombstone } = c.req.valid("query");
    const principal = actor(c, owner);
    const hasFailed = outcome === "failure";
    if (tombstone !== undefined) unwrap(await forbidName(scope, principal, ref, { tombstone, hasFailed }));
    const found = await findMachine(scope, principal, ref);
    if (found === null) {
      // By one's own name there is nothing to destroy, which is what was wanted; an id must be right.
      if (ref.by === "name") return c.body(null, 204);
      throw noSuchMachine();
    }
    c.set("machine", idOf(found.uid));

    const { row, isKept, notKept: refusal } = unwrap(await releaseMachine(scope, principal, found, hasFailed));
    const machine = toJson(row, scope.now());
    const isGone = !isLive(row);
    c.set("outcome", isKept ? "kept" : isGone ? "destroyed" : "deleting");
    if (isKept) return c.json({ machine, kept_until: machine.expires_at }, 200);
    const told = refusal === null ? {} : { not_kept: notKeptJson(refusal) };
    return c.json({ machine, ...told }, isGone ? 200 : 202);
  });
}
