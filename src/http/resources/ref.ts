import type { Ref } from "../../machine/name.ts";
import { parseResourceRef, type ResourceKind } from "../../machine/resource.ts";
import { validOf } from "../edge/problem.ts";

/** Reads `{name or id}` of one kind, as a caller put it into `field`. */
export const refIn = (kind: ResourceKind, text: string, field: string): Ref =>
  validOf(parseResourceRef(kind, text, field));
