import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import * as z from "zod";
import { destroyMany } from "../../lifecycle/destroy-many.ts";
import { findMachine } from "../../lifecycle/find.ts";
import { destroyMachine } from "../../lifecycle/destroy.ts";
import { keepOnFailure } from "../../lifecycle/renew.ts";
import { parseDuration } from "../../machine/duration.ts";
import type { SelectorTerm } from "../../machine/selector.ts";
import { isLive } from "../../machine/machine.ts";
import { idOf } from "../../machine/name.ts";
import { inBackground, keepAlive } from "../background.ts";
import type { AppEnv } from "../app-env.ts";
import { json, problems } from "../openapi.ts";
import { actor } from "../owner.ts";
import { invalidField, unwrap } from "../problem.ts";
import { duration, flag, labelSelector } from "../schemas.ts";
import { machineJson, toJson } from "./json.ts";
import { one, ownerQuery, refParam } from "./shapes.ts";
import { noSuchMachine } from "./owner.ts";

const LONGEST_TOMBSTONE_MS = 86_400_000;

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
      one.extend({ kept_until: z.iso.datetime().optional() }),
      "Destroyed; or kept until then, as it was asked for",
    ),
    202: json(one, "It will be: the sweep goes on with it"),
    204: { description: "There was none" },
    ...problems,
  },
});
const destroyAll = createRoute({
  method: "delete",
  path: "/v1/machines",
  summary: "Destroy those of your machines that a label_selector names",
  request: { query: ownerQuery.extend({ label_selector: labelSelector, dry_run: flag.optional() }) },
  responses: {
    200: json(z.object({ machines: z.array(machineJson), dry_run: z.literal(true) }), "What would be destroyed"),
    202: json(z.object({ machines: z.array(machineJson), dry_run: z.literal(false) }), "What is being destroyed"),
    ...problems,
  },
});

/** `DELETE /v1/machines/{name or id}` and `DELETE /v1/machines?label_selector=`. */
export function destroyRoutes(app: OpenAPIHono<AppEnv>): void {
  app.openapi(destroy, async (c) => {
    const scope = c.get("scope");
    const { ref: which } = c.req.valid("param");
    const { owner: asked, outcome, tombstone } = c.req.valid("query");
    const principal = actor(c, asked);
    if (tombstone !== undefined) {
      const until = scope.now() + parseTombstone(tombstone);
      if (which.by !== "name") throw invalidField("tombstone", "goes with a name; an id is never created again");
      // Before the look: a create that comes in between is forbidden, or is seen by it.
      await scope.store.tombstones.set(principal.owner, which.name, until, scope.now());
    }
    const found = await findMachine(scope, principal, which);
    if (found === null) {
      // By one's own name there is nothing to destroy, which is what was wanted; an id must be right.
      if (which.by === "name") return c.body(null, 204);
      throw noSuchMachine();
    }
    c.set("machine", idOf(found.uid));
    if (!isLive(found)) return c.json({ machine: toJson(found, scope.now()) }, 200);

    const kept = outcome === "failure" ? await keepOnFailure(scope, found) : null;
    if (kept) {
      c.set("outcome", "kept");
      const machine = toJson(kept, scope.now());
      return c.json({ machine, kept_until: machine.expires_at }, 200);
    }
    const work = destroyMachine(scope, found, c.get("requestId"));
    keepAlive(c, work);
    const row = unwrap(await work);
    const isGone = row.status === "destroyed";
    c.set("outcome", isGone ? "destroyed" : "deleting");
    return c.json({ machine: toJson(row, scope.now()) }, isGone ? 200 : 202);
  });

  app.openapi(destroyAll, async (c) => {
    const scope = c.get("scope");
    const { owner: asked, label_selector: labels, dry_run: dryRun = false } = c.req.valid("query");
    // `run=` and `run!=` are what an empty variable leaves, and would mean machines that nobody meant.
    if (!labels.some(isNaming))
      throw invalidField("label_selector", "must name at least one label that they have: what is to be destroyed?");
    const { owner } = actor(c, asked);
    const { rows, work } = await destroyMany(scope, { owner, labels, dryRun, requestId: c.get("requestId") });
    inBackground(c, work);
    const machines = rows.map((row) => toJson(row, scope.now()));
    if (dryRun) return c.json({ machines, dry_run: true as const }, 200);
    c.set("outcome", "deleting");
    return c.json({ machines, dry_run: false as const }, 202);
  });
}

const isNaming = (term: SelectorTerm): boolean =>
  term.test === "exists" || (term.test === "in" && term.values.every((value) => value !== ""));

function parseTombstone(text: string): number {
  const length = parseDuration(text) ?? 0;
  if (length > 0 && length <= LONGEST_TOMBSTONE_MS) return length;
  throw invalidField("tombstone", "must be longer than 0s and at most 1d");
}
