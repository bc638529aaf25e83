import type { Status } from "../machine/machine.ts";
import type { RowReason } from "../machine/reason.ts";
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
  /** Only those that have ended since then; unix milliseconds. */
  readonly endedSince?: number | undefined;
  /** Only those that ended for that. */
  readonly reason?: RowReason | undefined;
  /** From 1. */
  readonly page: number;
  readonly perPage: number;
}

/** Whether a filter means nothing but what has ended. */
export const isOfEnded = ({ statuses }: Pick<MachineFilter, "statuses">): boolean =>
  statuses.length > 0 && statuses.every((status) => status === "destroyed");

/** The condition that a filter means, and what it binds. Lists go as JSON: D1 binds a hundred parameters at most. */
export function whereOf({
  owner,
  statuses,
  labels,
  endedSince,
  reason,
}: MeantMachines & Pick<MachineFilter, "statuses" | "endedSince" | "reason">): Statement {
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
  if (endedSince !== undefined) {
    conditions.push("destroyed_at >= ?");
    params.push(endedSince);
  }
  if (reason !== undefined) {
    conditions.push("reason = ?");
    params.push(reason);
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
