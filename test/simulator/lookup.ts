// What the project's own kinds of resources have in common: they are looked up, listed and named alike.
import type { Call, Handler, Reply } from "./call.ts";
import { ApiError, notFound } from "./errors.ts";
import type { Labels } from "./labels.ts";
import { labelFilter } from "./lists.ts";
import type { World } from "./world.ts";

/** A resource with a name of its own. */
export interface Named {
  id: number;
  name: string;
  labels: Labels;
}

/** Wraps handlers of one resource: finds it by the first number in the path or answers 404. */
export function withRecord<Held>(what: string, all: (world: World) => ReadonlyMap<number, Held>) {
  return (handle: (call: Call, record: Held) => Reply): Handler =>
    (call) => {
      const record = all(call.world).get(call.ids[0] ?? 0);
      if (record === undefined) throw notFound(what);
      return handle(call, record);
    };
}

/** What the filters `name` and `label_selector` leave. */
export function filterNamed<Held extends { view: Named }>(call: Call, records: Iterable<Held>): Held[] {
  const name = call.url.searchParams.get("name");
  const matches = labelFilter(call);
  return [...records].filter(({ view }) => (name === null || view.name === name) && matches(view.labels));
}

/** Throws 409 if another resource of this kind has the name already. `what` begins the message. */
export function refuseTaken(
  what: "server " | "SSH key " | "firewall " | "",
  records: Iterable<{ view: { id: number; name: string } }>,
  name: string,
  except_id?: number,
): void {
  for (const { view } of records)
    if (view.name === name && view.id !== except_id)
      throw new ApiError(409, "uniqueness_error", `${what}name is already used`, { fields: [{ name: "name" }] });
}
