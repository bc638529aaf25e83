import type { Scene } from "../acts.ts";

/**
 * The owner's word about all that it has, or about what is called so: what is asked for by then may die, also where it lands later. To be
 * told when that word is over.
 */
export function saysOfAll(
  { kind, judge, clock }: Scene,
  owner: string,
  isMeant = (_name: string): boolean => true,
): () => void {
  const known = judge.leases.all().filter((life) => life.owner === owner);
  const names = new Set([...kind.rules.names, ...known.map(({ name }) => name)]);
  const calls = [...names].filter(isMeant).map((name) => judge.leases.word({ owner, name }));
  return () => {
    for (const call of calls) call.to = clock.now;
  };
}
