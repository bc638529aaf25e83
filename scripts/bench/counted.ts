// A Worker whose trips to D1 and calls to the provider are counted, operation by operation.
import * as z from "zod";
import { countingModules } from "./bundles.ts";
import type { Bench } from "./figure.ts";
import type { ApiEntry } from "./provider.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

const rows = z.number().nullable();
const tripsSchema = z.array(z.array(z.object({ text: z.string(), read: rows, written: rows })));

/** What something cost outside the Worker. */
export interface Cost {
  /** To the provider. */
  readonly calls: number;
  readonly asked: readonly ApiEntry[];
  /** To D1: a statement by itself, or a batch. */
  readonly trips: number;
  /** Rows; null where a statement was sent in a way that does not tell. */
  readonly read: number | null;
  readonly written: number | null;
}

export interface CountedWorld extends World {
  /** What it costs, all that goes on behind the answer included. */
  costOf(act: () => Promise<unknown>): Promise<Cost>;
}

export async function startCounted(bench: Bench, options: WorldOptions = {}): Promise<CountedWorld> {
  const world = await startWorld(bench, { ...options, modules: await countingModules(bench.mayfly) });
  const take = async () => tripsSchema.parse(JSON.parse((await world.call("GET", "/_bench/trips", 200)).text));
  return {
    ...world,
    async costOf(act) {
      await take();
      const before = (await bench.provider.requests()).length;
      await act();
      const trips = await take();
      const statements = trips.flat();
      const asked = (await bench.provider.requests()).slice(before);
      return {
        calls: asked.length,
        asked,
        trips: trips.length,
        read: sum(statements.map(({ read }) => read)),
        written: sum(statements.map(({ written }) => written)),
      };
    },
  };
}

const sum = (counts: readonly (number | null)[]): number | null =>
  counts.reduce((total, count) => (total === null || count === null ? null : total + count), 0);
