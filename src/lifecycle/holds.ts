import type { Context } from "./context.ts";

/** What sweeps hold back until somebody says that it is right. */
export const HOLDS = ["blast_cap", "credential", "inventory"] as const;
export type Hold = (typeof HOLDS)[number];

/** Long enough for two inventory passes to see to what was held. */
const RELEASED_MS = 45 * 60_000;

/** Lets sweeps go on with what they hold back. Answers until when, unix milliseconds; null = for good. */
export async function releaseHold({ store, now, credential }: Context, hold: Hold): Promise<number | null> {
  if (hold === "credential") {
    await store.inventory.adoptCredentialForAll(await credential(), now());
    return null;
  }
  const until = now() + RELEASED_MS;
  const { settings } = store;
  await (hold === "blast_cap" ? settings.releaseBlastCap(until, now()) : settings.releaseInventory(until, now()));
  return until;
}
