/** A run, cut into what processes play side by side: the same slices however many of them there are. */
import type { Order } from "../../test/simulation/order.ts";
import { isKind, SHARES, type KindName } from "../../test/simulation/kinds/shares.ts";

/** Short enough that all end at about the same time, and that something is said meanwhile. */
const MOST_OF_ALL = 25;
/** What is dear is cut smaller. */
const LEAST_SLICES = 8;

/** Histories of all kinds by their shares, of each at least one; of one kind alone where it is named. The dear ones come first. */
export function slicesOf(seed: number, runs: number, only: KindName | null): Order[] {
  const shares = Object.entries(SHARES).filter(([kind]) => only === null || kind === only);
  const all = shares.reduce((sum, [, share]) => sum + share, 0);
  return shares
    .toSorted(([, a], [, b]) => a - b)
    .flatMap(([kind, share]) =>
      isKind(kind) ? slicesOfOne(kind, seed, Math.max(1, Math.round((runs * share) / all))) : [],
    );
}

function slicesOfOne(kind: KindName, seed: number, runs: number): Order[] {
  const size = Math.min(MOST_OF_ALL, Math.ceil(runs / LEAST_SLICES));
  return Array.from({ length: Math.ceil(runs / size) }, (_, index) => ({
    kind,
    seed: seedOf(`${seed} ${kind} ${index}`),
    runs: Math.min(size, runs - index * size),
  }));
}

/** FNV-1a, so that neighbouring seeds have no slice in common. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 1;
}
