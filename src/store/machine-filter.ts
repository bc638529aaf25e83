import type { Status } from "../machine/machine.ts";
import type { SelectorTerm } from "../machine/selector.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import type { Param, Statement } from "./db.ts";

/** Which machines are meant. */
export interface MeantMachines {
  /** Null = every owner's. */
  readonly owner: string | null;
  /** All of which they have. */
  readonly labels: readonly SelectorTerm[];
}

/** A page of them. */
export interface MachineFilter extends MeantMachines {
  /** Empty = the live ones. */
  readonly statuses: readonly Status[];
  /** From 1. */
  readonly page: number;
  readonly perPage: number;
}

/** The condition that a filter means, and what it binds. Lists go as JSON: D1 binds a hundred parameters at most. */
export function whereOf({ owner, statuses, labels }: MeantMachines & Pick<MachineFilter, "statuses">): Statement {
  const conditions: string[] = [];
  const params: Param[] = [];
  if (owner !== null) {
    conditions.push("owner = ?");
    params.push(owner);
  }
  if (statuses.length === 0) conditions.push(LIVE_MACHINE);
  else {
    conditions.push("status IN (SELECT value FROM json_each(?))");
    params.push(JSON.stringify(statuses));
  }
  for (const term of labels) {
    const value = "(SELECT value FROM json_each(labels) WHERE key = ?)";
    params.push(term.key);
    if ("values" in term) {
      const isIn = `coalesce(${value} IN (SELECT value FROM json_each(?)), 0)`;
      conditions.push(term.test === "in" ? isIn : `NOT ${isIn}`);
      params.push(JSON.stringify(term.values));
    } else conditions.push(`${value} IS ${term.test === "exists" ? "NOT " : ""}NULL`);
  }
  return { text: conditions.join(" AND "), params };
}
