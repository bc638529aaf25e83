/** What callers of all kinds do, as it is drawn. */
import fc from "fast-check";
import { LISTS, REVOCABLE, type CallerAct, type Ref } from "../acts/caller-acts.ts";
import { CALLERS } from "../world/callers.ts";
import { HANG_UP, type Mishap } from "../world/invocation.ts";

export type CallerStep = CallerAct & { readonly mishap: Mishap | null };

const oneOf = <T>(list: readonly T[]) => fc.constantFrom(...list);
const is = <const T extends string>(word: T) => ({ do: fc.constant(word) });
const TTLS = ["60s", "5m", "20m", "1h", "3h"] as const;

/** What callers ask for of machines of these names. */
export const callerAct = (names: readonly string[]): fc.Arbitrary<CallerAct> => {
  const who = oneOf(CALLERS);
  const anybody = oneOf([...CALLERS, "admin" as const]);
  const ref: fc.Arbitrary<Ref> = fc.oneof(
    { arbitrary: fc.record({ by: fc.constant("name" as const), name: oneOf(names) }), weight: 3 },
    {
      arbitrary: fc.record({ by: fc.constant("id" as const), which: fc.nat({ max: 9 }), isOwn: fc.boolean() }),
      weight: 3,
    },
  );
  return fc.oneof(
    {
      arbitrary: fc.record({
        ...is("order"),
        who,
        name: oneOf([...names, ...names, null]),
        spec: oneOf([0, 1, 2, 3] as const),
        ttl: oneOf(TTLS),
        wait: oneOf([0, 0, 5, 30] as const),
      }),
      weight: 10,
    },
    { arbitrary: fc.record({ ...is("look"), who: anybody, ref, wait: oneOf([0, 30] as const) }), weight: 4 },
    { arbitrary: fc.record({ ...is("browse"), who, what: oneOf(LISTS) }), weight: 4 },
    { arbitrary: fc.record({ ...is("extend"), who: anybody, ref, ttl: oneOf(TTLS) }), weight: 5 },
    {
      arbitrary: fc.record({
        ...is("end"),
        who: anybody,
        ref,
        isFailed: fc.boolean(),
        tombstone: oneOf([null, null, "10m"] as const),
      }),
      weight: 4,
    },
    { arbitrary: fc.record({ ...is("pretend"), who, as: who }), weight: 1 },
    { arbitrary: fc.record({ ...is("revoke"), who: oneOf(REVOCABLE), isAll: fc.boolean() }), weight: 1 },
  );
};

/** The caller is gone before it is answered. */
export const hangUp: fc.Arbitrary<Mishap> = fc.record({
  what: fc.constant(HANG_UP),
  at: fc.nat({ max: 10 }),
  when: oneOf(["before", "after"] as const),
});
