import type { ResourceRow } from "../../machine/resource.ts";
import type { Scope } from "../edge/app-env.ts";
import { toJson } from "./json.ts";

type Shows = Pick<Scope, "reads" | "now">;

/** Rows as the API shows them, each with the live machines that use it. */
export async function shown({ reads, now }: Shows, rows: readonly ResourceRow[]) {
  const users = await reads.resources.users(rows.map(({ uid }) => uid));
  return rows.map((row) => toJson(row, users.get(row.uid) ?? [], now()));
}

/** One of them as an answer. */
export async function wrapped(scope: Shows, row: ResourceRow) {
  const [one] = await shown(scope, [row]);
  return { [row.spec.kind]: one ?? toJson(row, [], scope.now()) };
}
