import type { Principal } from "../../auth/principal.ts";
import type { MachineRow } from "../../machine/machine.ts";
import { idOf, type Ref } from "../../machine/name.ts";
import type { Scope } from "../../invocation.ts";
import { HttpProblem } from "../problem.ts";

/** Whose machines a call is about: the caller's own, or for an admin those of the owner it names. */
export function ownerFor(principal: Principal, asked: string | undefined): string {
  if (asked === undefined || asked === principal.owner) return principal.owner;
  if (principal.isAdmin) return asked;
  throw new HttpProblem("forbidden", {
    detail: `This token is ${principal.owner}'s.`,
    field: "owner",
    rule: "must be left out, or be the token's own: only an admin acts for others",
    next: "Leave `owner` out.",
  });
}

/** The row that a ref means to this caller. Unknown and foreign look the same. */
export async function findRow(
  { store }: Pick<Scope, "store">,
  principal: Principal,
  which: Ref,
  asked: string | undefined,
): Promise<MachineRow | null> {
  const whose = ownerFor(principal, asked);
  if (which.by === "name") return store.machines.byName(whose, which.name);
  const row = await store.machines.byUid(which.uid);
  if (row === null) return null;
  const isHis = row.owner === whose || (principal.isAdmin && asked === undefined);
  return isHis ? row : null;
}

export const noSuchMachine = (): HttpProblem =>
  new HttpProblem("not_found", { detail: "You have no such machine.", next: "GET /v1/machines lists those you have." });

/** Where a machine is to be found. */
export const pathOf = ({ uid }: MachineRow): string => `/v1/machines/${idOf(uid)}`;
