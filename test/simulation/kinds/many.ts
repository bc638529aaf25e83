/** One act on many names, one after the other within seconds: what it makes ends in the same minute. */
import { perform, type Scene } from "../acts.ts";
import type { Act, Ttl } from "../history.ts";
import type { Owner } from "../world/callers.ts";
import type { Circumstances } from "../world/invocation.ts";
import type { Transaction } from "../world/sim-db.ts";

export interface Many {
  readonly do: "many";
  readonly what: "create" | "renew" | "destroy";
  readonly owner: Owner;
  /** Which of the kind's names, and how many of those behind it. */
  readonly first: number;
  readonly count: number;
  readonly ttl: Ttl;
  readonly spec: 0 | 1 | 2;
}

export async function performMany(
  scene: Scene,
  { what, owner, first, count, ttl, spec }: Many,
  circumstances: Circumstances,
  transaction: Transaction,
): Promise<void> {
  const { names } = scene.kind.rules;
  for (let number = first; number < first + count; number++) {
    const name = names[number % names.length] ?? "";
    await transaction(() => perform(scene, actOn(what, { owner, name }, ttl, spec), circumstances));
  }
}

function actOn(
  what: Many["what"],
  whose: { readonly owner: Owner; readonly name: string },
  ttl: Many["ttl"],
  spec: Many["spec"],
): Act {
  if (what === "destroy") return { do: "destroy", ...whose, failed: false };
  return what === "renew" ? { do: "renew", ...whose, ttl } : { do: "create", ...whose, ttl, spec };
}
