// A Worker that has nothing to do: what a tick costs then is what it costs almost always.
import type { Provider } from "./provider.ts";
import type { World } from "./world.ts";

const MOST_TICKS = 200;

/** Plays ticks at `at` until one asks the provider once, and the one after it too: the inventory pass and all else has ended. */
export async function settle(world: Pick<World, "tick">, provider: Provider, at = Date.now()): Promise<void> {
  let idle = 0;
  for (let played = 0; played < MOST_TICKS; played++) {
    const before = (await provider.requests()).length;
    await world.tick(at);
    idle = (await provider.requests()).length - before <= 1 ? idle + 1 : 0;
    if (idle === 2) return;
  }
  throw new Error(`after ${MOST_TICKS} ticks there is still something to do`);
}
