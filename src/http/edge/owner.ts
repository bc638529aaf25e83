import type { Context } from "hono";
import { actingFor, type Principal } from "../../auth/principal.ts";
import type { AppEnv } from "./app-env.ts";
import { HttpProblem, invalidField } from "./problem.ts";

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

/** The same for whoever makes something, which is to be somebody's: `lost` is only found. */
export function maker(c: Context<AppEnv>, owner: string | undefined): Principal {
  if (owner === "lost")
    throw invalidField("owner", "must be somebody who can own something: `lost` is what was found without");
  return actor(c, owner);
}

/** Whose things a list shows: everybody's to an admin who names nobody, which is null. */
export function listedOwner(c: Context<AppEnv>, asked: string | undefined): string | null {
  const { owner, seesAll } = actor(c, asked);
  return seesAll ? null : owner;
}

/** Whose sums are asked for, null = everybody's; and where they are told owner by owner, the one that may be shown. */
interface Counted {
  readonly account: string | null;
  readonly owner: string | null;
  readonly shown: string | null;
}

/**
 * An admin sees all sums, and narrows them by account or owner. Another caller sees those of its account, against which its limits are
 * held, or its own; never those of another owner of the account.
 */
export function countedOf(
  c: Context<AppEnv>,
  asked: { account?: string | undefined; owner?: string | undefined },
): Counted {
  const caller = c.get("principal");
  const { account = null, owner = null } = asked;
  if (caller.seesAll) return { account, owner, shown: null };
  actor(c, asked.owner);
  if (account !== null && account !== caller.account)
    throw new HttpProblem("forbidden", {
      detail: `This caller's account is ${caller.account}.`,
      field: "account",
      rule: "must be left out, or be the caller's own: only an admin sees others",
      next: "Leave `account` out.",
    });
  return { account: owner === null ? caller.account : account, owner, shown: caller.owner };
}
