/**
 * Firewalls, networks and SSH keys over HTTP: what all three have in common. `create.ts` makes them, `actions.ts` is what else can be
 * done with them, `specs.ts` reads what is asked for.
 */
import * as z from "zod";
import { deleteResource } from "../../lifecycle/delete-resource.ts";
import { findResource } from "../../lifecycle/find.ts";
import { isLiveResource, RESOURCE_KINDS, resourceStatus, type ResourceKind } from "../../machine/resource.ts";
import { actor, listedOwner } from "../edge/owner.ts";
import { json, problems } from "../edge/openapi.ts";
import { type Api, createRoute } from "../edge/route.ts";
import { labelSelector, metaOf, ownerQuery, paging } from "../edge/schemas.ts";
import { actionRoutes } from "./actions.ts";
import { shown, wrapped } from "./answers.ts";
import { createResourceRoutes } from "./create.ts";
import { manyOf, oneOf, PLURALS } from "./json.ts";
import { noSuch, resourceMeant } from "./meant.ts";
import { refIn } from "./ref.ts";

const WORDS: Readonly<Record<ResourceKind, string>> = { firewall: "firewall", network: "network", ssh_key: "SSH key" };
const params = z.object({ ref: z.string() });

/** All routes of firewalls, networks and keys. */
export function resourceRoutes(app: Api): void {
  createResourceRoutes(app);
  actionRoutes(app);
  for (const kind of RESOURCE_KINDS) routesOf(app, kind);
}

function routesOf(app: Api, kind: ResourceKind): void {
  const path = `/v1/${PLURALS[kind]}`;
  const list = createRoute({
    method: "get",
    path,
    summary: `List your live ${WORDS[kind]}s`,
    request: { query: ownerQuery.extend({ ...paging, label_selector: labelSelector.optional() }) },
    responses: { 200: json(manyOf(kind), "One page"), ...problems },
  });
  const get = createRoute({
    method: "get",
    path: `${path}/{ref}`,
    summary: `Get a ${WORDS[kind]} by name or id`,
    request: { params, query: ownerQuery },
    responses: { 200: json(oneOf(kind), "The live one of that name, else the last"), ...problems },
  });
  const remove = createRoute({
    method: "delete",
    path: `${path}/{ref}`,
    summary: `Delete a ${WORDS[kind]} by name or id, as soon as no machine uses it`,
    request: { params, query: ownerQuery },
    responses: {
      200: json(oneOf(kind), "Deleted"),
      202: json(oneOf(kind), "It will be: the sweep goes on with it"),
      204: { description: "There was none" },
      ...problems,
    },
  });

  app.openapi(list, async (c) => {
    const scope = c.get("scope");
    const { page, per_page: perPage, owner: asked, label_selector: labels = [] } = c.req.valid("query");
    const owner = listedOwner(c, asked);
    const listed = await scope.reads.resources.list(kind, { owner, labels, page, perPage });
    return c.json({ [PLURALS[kind]]: await shown(scope, listed.rows), meta: metaOf({ page, perPage }, listed) }, 200);
  });

  app.openapi(get, async (c) => {
    const row = await resourceMeant(c, kind, c.req.valid("param").ref, c.req.valid("query").owner);
    return c.json(await wrapped(c.get("scope"), row), 200);
  });

  app.openapi(remove, async (c) => {
    const scope = c.get("scope");
    const ref = refIn(kind, c.req.valid("param").ref, "ref");
    const row = await findResource(scope, actor(c, c.req.valid("query").owner), kind, ref);
    if (row === null) {
      // By one's own name there is nothing to delete, which is what was wanted; an id must be right.
      if (ref.by === "name") return c.body(null, 204);
      throw noSuch(kind);
    }
    const gone = isLiveResource(row) ? await deleteResource(scope, row) : row;
    const status = resourceStatus(gone);
    c.set("outcome", status);
    return c.json(await wrapped(scope, gone), status === "deleting" ? 202 : 200);
  });
}
