import type { SelectorTerm } from "../machine/selector.ts";
import { sql, type Param, type Statement } from "./db.ts";

/** The condition that a row's `labels` meet all terms. Lists go as JSON: D1 binds a hundred parameters at most. */
export function haveLabels(terms: readonly SelectorTerm[]): Statement {
  const conditions: string[] = ["true"];
  const params: Param[] = [];
  for (const term of terms) {
    const value = "(SELECT value FROM json_each(labels) WHERE key = ?)";
    params.push(term.key);
    if ("values" in term) {
      const isIn = `coalesce(${value} IN (SELECT value FROM json_each(?)), 0)`;
      conditions.push(term.test === "in" ? isIn : `NOT ${isIn}`);
      params.push(JSON.stringify(term.values));
    } else conditions.push(`${value} IS ${term.test === "exists" ? "NOT " : ""}NULL`);
  }
  return sql(conditions.join(" AND "), ...params);
}
