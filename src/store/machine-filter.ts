import type { Status } from "../machine/machine.ts";
import type { RowReason } from "../machine/reason.ts";
import type { SelectorTerm } from "../machine/selector.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { sql, type Param, type Statement } from "./db.ts";
import { haveLabels } from "./label-terms.ts";
import type { Paging } from "./rows.ts";
import { ownedBy, type Whose } from "./whose.ts";

/** Which machines are meant. */
export interface MeantMachines {
  /** Null = every owner's. */
  readonly owner: Whose | null;
  /** All of which they have. */
  readonly labels: readonly SelectorTerm[];
  /** Only those that the provider made by then, unix milliseconds; of one that it has not shown that is unknown, and so not meant. */
  readonly createdBy?: number | undefined;
}

/** A page of them. */
export interface MachineFilter extends MeantMachines, Paging {
  /** Empty = the live ones. */
  readonly statuses: readonly Status[];
  /** Only those that have ended since then; unix milliseconds. */
  readonly endedSince?: number | undefined;
  /** Only those that ended for that. */
  readonly reason?: RowReason | undefined;
}

/** Whether a filter means nothing but what has ended. */
export const isOfEnded = ({ statuses }: Pick<MachineFilter, "statuses">): boolean =>
  statuses.length > 0 && statuses.every((status) => status === "destroyed");

/** Whether it means nothing but live ones. One that was given up is `unknown` too. */
export const isOfLive = ({ statuses }: Pick<MachineFilter, "statuses">): boolean =>
  !statuses.some((status) => status === "destroyed" || status === "unknown");

const LIVE_ORDER = "requested_at, uid";
const ENDED_ORDER = "destroyed_at DESC, uid";

/**
 * The rows that a filter means, and their order: live ones first, the oldest before the others; then those that have ended, the last
 * before the others. Of ended ones no more is read than the page asks for.
 */
export function machinesOf(filter: MachineFilter): { readonly from: Statement; readonly order: string } {
  const live = sideOf(filter, LIVE_MACHINE);
  if (isOfLive(filter)) return { from: live, order: LIVE_ORDER };
  const ended = sideOf(filter, "destroyed_at IS NOT NULL");
  if (isOfEnded(filter)) return { from: ended, order: ENDED_ORDER };
  const from = `(SELECT * FROM ${live.text}
    UNION ALL SELECT * FROM (SELECT * FROM ${ended.text} ORDER BY ${ENDED_ORDER} LIMIT ?))`;
  return {
    from: sql(from, ...live.params, ...ended.params, filter.page * filter.perPage + 1),
    order: "destroyed_at IS NOT NULL, coalesce(-destroyed_at, requested_at), uid",
  };
}

function sideOf(filter: MachineFilter, side: string): Statement {
  const { statuses, endedSince, reason } = filter;
  const meant = whereOf(filter);
  const conditions = [side, meant.text];
  const params = [...meant.params];
  const only = (condition: string, value: Param): void => {
    conditions.push(condition);
    params.push(value);
  };
  if (statuses.length > 0) only("status IN (SELECT value FROM json_each(?))", JSON.stringify(statuses));
  if (endedSince !== undefined) only("destroyed_at >= ?", endedSince);
  if (reason !== undefined) only("reason = ?", reason);
  return sql(`machines WHERE ${conditions.join(" AND ")}`, ...params);
}

/** The condition that is meant, and what it binds. */
export function whereOf({ owner, labels, createdBy }: MeantMachines): Statement {
  const owned = owner === null ? sql("true") : ownedBy(owner);
  const aged = createdBy === undefined ? sql("true") : sql("created_at <= ?", createdBy);
  const labelled = haveLabels(labels);
  return sql(
    `${owned.text} AND ${aged.text} AND ${labelled.text}`,
    ...owned.params,
    ...aged.params,
    ...labelled.params,
  );
}
