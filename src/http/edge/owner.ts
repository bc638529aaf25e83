import type { Context } from "hono";
import { actingFor, type Principal } from "../../auth/principal.ts";
import type { AppEnv } from "./app-env.ts";
import { HttpProblem } from "./problem.ts";

/** Whom a call acts as: its caller, or for an admin the owner that `?owner=` names. */
export function actor(c: Context<AppEnv>, owner: string | undefined): Principal {
  const caller = c.get("principal");
  const acting = actingFor(caller, owner);
  if (acting !== null) return acting;
  throw new HttpProblem("forbidden", {
    detail: `This caller is ${caller.owner}.`,
    field: "owner",
    rule: "must be left out, or be the caller's own: only an admin acts for others",
    next: "Leave `owner` out.",
  });
}

/** Whose things a list shows: everybody's to an admin who names nobody, which is null. */
export function listedOwner(c: Context<AppEnv>, asked: string | undefined): string | null {
  const { owner, seesAll } = actor(c, asked);
  return seesAll ? null : owner;
}
