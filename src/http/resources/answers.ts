import type { ResourceRow } from "../../machine/resource.ts";
import type { Scope } from "../../invocation.ts";
import { toJson } from "./json.ts";

/** Rows as the API shows them, each with the live machines that use it. */
export async function shown({ resources }: Scope["store"], rows: readonly ResourceRow[]) {
  const users = await resources.users(rows.map(({ uid }) => uid));
  return rows.map((row) => toJson(row, users.get(row.uid) ?? []));
}

/** One of them as an answer. */
export async function wrapped({ store }: Pick<Scope, "store">, row: ResourceRow) {
  const [one] = await shown(store, [row]);
  return { [row.spec.kind]: one ?? toJson(row, []) };
}
