import type { ResourceRow } from "../../machine/resource.ts";
import type { Reads } from "../edge/app-env.ts";
import { toJson } from "./json.ts";

/** Rows as the API shows them, each with the live machines that use it. */
export async function shown(reads: Reads, rows: readonly ResourceRow[]) {
  const users = await reads.resources.users(rows.map(({ uid }) => uid));
  return rows.map((row) => toJson(row, users.get(row.uid) ?? []));
}

/** One of them as an answer. */
export async function wrapped({ reads }: { readonly reads: Reads }, row: ResourceRow) {
  const [one] = await shown(reads, [row]);
  return { [row.spec.kind]: one ?? toJson(row, []) };
}
