import type { Context } from "hono";
import { findMachine } from "../../lifecycle/find.ts";
import type { MachineRow } from "../../machine/machine.ts";
import { idOf, type Ref } from "../../machine/name.ts";
import type { AppEnv } from "../edge/app-env.ts";
import { actor } from "../edge/owner.ts";
import { HttpProblem } from "../edge/problem.ts";

/** The machine that a call is about, which from here on the log names; else `not_found`. */
export async function machineMeant(c: Context<AppEnv>, ref: Ref, owner: string | undefined): Promise<MachineRow> {
  const row = await findMachine(c.get("scope"), actor(c, owner), ref);
  if (row === null) throw noSuchMachine();
  c.set("machine", idOf(row.uid));
  return row;
}

export const noSuchMachine = (): HttpProblem =>
  new HttpProblem("not_found", { detail: "You have no such machine.", next: "GET /v1/machines lists those you have." });
