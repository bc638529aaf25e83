import type { Context } from "hono";
import { findResource } from "../../lifecycle/find.ts";
import type { Ref } from "../../machine/name.ts";
import { parseResourceRef, type ResourceKind, type ResourceRow } from "../../machine/resource.ts";
import type { AppEnv } from "../edge/app-env.ts";
import { actor } from "../edge/owner.ts";
import { HttpProblem, validOf } from "../edge/problem.ts";
import { PLURALS } from "./json.ts";

/** Reads `{name or id}` of one kind, as a caller put it into `field`. */
export const refIn = (kind: ResourceKind, text: string, field: string): Ref =>
  validOf(parseResourceRef(kind, text, field));

/** The one that a call is about; else `not_found`. */
export async function resourceMeant(
  c: Context<AppEnv>,
  kind: ResourceKind,
  text: string,
  owner: string | undefined,
): Promise<ResourceRow> {
  const ref = refIn(kind, text, "ref");
  const row = await findResource(c.get("scope"), actor(c, owner), kind, ref);
  if (row === null) throw noSuch(kind);
  return row;
}

export const noSuch = (kind: ResourceKind): HttpProblem =>
  new HttpProblem("not_found", { detail: `You have no such ${kind}.`, next: `GET /v1/${PLURALS[kind]} lists yours.` });
