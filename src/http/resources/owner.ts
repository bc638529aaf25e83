import type { Principal } from "../../auth/principal.ts";
import { isLive, type MachineRow } from "../../machine/machine.ts";
import { parseRef, type Ref } from "../../machine/name.ts";
import { parseResourceRef, type ResourceKind, type ResourceRow } from "../../machine/resource.ts";
import type { Scope } from "../../invocation.ts";
import { ownerFor } from "../machines/owner.ts";
import { HttpProblem, invalidField } from "../problem.ts";
import { PLURALS } from "./json.ts";

/** Reads `{name or id}` of one kind, as a caller put it into `field`. */
export function refIn(kind: ResourceKind, text: string, field: string): Ref {
  const ref = parseResourceRef(kind, text, field);
  if (!ref.ok) throw invalidField(ref.problem.field, ref.problem.rule);
  return ref.value;
}

/** The row that a ref means to this caller; null = none. Unknown and foreign look the same. */
export async function findResource(
  { store }: Pick<Scope, "store">,
  principal: Principal,
  kind: ResourceKind,
  ref: Ref,
  asked: string | undefined,
): Promise<ResourceRow | null> {
  const whose = ownerFor(principal, asked);
  if (ref.by === "name") return store.resources.byName(kind, whose, ref.name);
  const row = await store.resources.byUid(ref.uid);
  const isHis = row?.owner === whose || (principal.isAdmin && asked === undefined);
  return row?.spec.kind === kind && isHis ? row : null;
}

export const noSuch = (kind: ResourceKind): HttpProblem =>
  new HttpProblem("not_found", { detail: `You have no such ${kind}.`, next: `GET /v1/${PLURALS[kind]} lists yours.` });

/** The live machines of an owner that are named in a field of the caller's. */
export async function machinesIn(
  { store }: Pick<Scope, "store">,
  owner: string,
  texts: readonly string[],
  field: string,
): Promise<MachineRow[]> {
  const rows: MachineRow[] = [];
  for (const [index, text] of texts.entries()) {
    const where = `${field}.${index}`;
    const ref = parseRef(text, where);
    if (!ref.ok) throw invalidField(ref.problem.field, ref.problem.rule);
    const { machines } = store;
    const row =
      ref.value.by === "name" ? await machines.byName(owner, ref.value.name) : await machines.byUid(ref.value.uid);
    if (row === null || row.owner !== owner || !isLive(row))
      throw invalidField(where, "must be the name or id of a live machine of the same owner");
    rows.push(row);
  }
  return rows;
}
