import fc from "fast-check";
import type { Mishap } from "../world/invocation.ts";

/** The same act, and what may go wrong with it. */
export const withMishap = <T extends object>(
  act: fc.Arbitrary<T>,
  mishap: fc.Arbitrary<Mishap | null>,
): fc.Arbitrary<T & { readonly mishap: Mishap | null }> =>
  fc.tuple(act, mishap).map(([one, met]) => Object.assign({}, one, { mishap: met }));
