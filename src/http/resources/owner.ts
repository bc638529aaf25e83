import { parseResourceRef, type ResourceKind } from "../../machine/resource.ts";
import type { Ref } from "../../machine/name.ts";
import { HttpProblem, validOf } from "../edge/problem.ts";
import { PLURALS } from "./json.ts";

/** Reads `{name or id}` of one kind, as a caller put it into `field`. */
export const refIn = (kind: ResourceKind, text: string, field: string): Ref =>
  validOf(parseResourceRef(kind, text, field));

export const noSuch = (kind: ResourceKind): HttpProblem =>
  new HttpProblem("not_found", { detail: `You have no such ${kind}.`, next: `GET /v1/${PLURALS[kind]} lists yours.` });
