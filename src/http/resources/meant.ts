import type { Context } from "hono";
import { findResource } from "../../lifecycle/find.ts";
import type { ResourceKind, ResourceRow } from "../../machine/resource.ts";
import type { AppEnv } from "../edge/app-env.ts";
import { actor } from "../edge/owner.ts";
import { HttpProblem } from "../edge/problem.ts";
import { PLURALS } from "./json.ts";
import { refIn } from "./ref.ts";

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
