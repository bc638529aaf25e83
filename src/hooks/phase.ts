import { failureOf, type ExtraPhase, type PhaseContext } from "../reaper/context.ts";
import type { Item } from "../reaper/report.ts";
import type { DeliveryRow } from "../machine/delivery.ts";
import { Misconfigured } from "../machine/misconfigured.ts";
import { StoreError } from "../store/db.ts";
import { carryOut, CLAIM_MS, type Carried, type Carrying } from "./carry-out.ts";

/** More than a sweep on the larger plan can carry out. */
const MOST = 50;
/** What the look at what is due costs. */
const LOOK = { fetches: 0, statements: 1 };
/** What one create costs as a rule, its claim and its end included. */
const COST = { fetches: 3, statements: 18 };

/**
 * The phase of a sweep that carries out what was cut off or put off, one owner after the other, with what all that ends machines has
 * left. `open` throws where the configuration cannot be read, which no other phase needs.
 */
export const hooksPhase = (open: (context: PhaseContext) => Carrying): ExtraPhase => ({
  name: "hooks",
  run: async (context) => {
    const { store, pace, now, items } = context;
    if (context.known.lacks("pending") || (await pace.leaves(LOOK))) return null;
    const rows = await store.deliveries.due(now(), MOST);
    if (rows.length === 0) return null;
    const work = opened(context, open);
    if (work === null) return null;
    for (const row of rows) {
      const stop = await pace.stop(COST);
      items.push(stop === null ? await tryOne(work, row) : itemOf(row, "remaining", stop));
    }
    return null;
  },
});

/** A configuration that cannot be read is no failure of the sweep, which needs none of it: it is told, and what is due waits. */
function opened(context: PhaseContext, open: (context: PhaseContext) => Carrying): Carrying | null {
  try {
    return open(context);
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error;
    const { detail } = failureOf(error);
    context.items.push({
      uid: null,
      owner: null,
      name: null,
      providerId: null,
      outcome: "error",
      reason: "internal",
      detail,
    });
    return null;
  }
}

/** One that fails leaves the others theirs; a database that does not answer is nothing to go on with. */
async function tryOne(work: Carrying, row: DeliveryRow): Promise<Item> {
  try {
    const claimed = await work.store.deliveries.claim(row.uid, work.now(), work.now() + CLAIM_MS);
    return claimed === null ? itemOf(row, "kept", "live") : itemOf(row, ...TOLD[await carryOut(work, claimed)]);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { reason, detail } = failureOf(error);
    return itemOf(row, "error", reason, detail);
  }
}

const TOLD: Readonly<Record<Carried, readonly [Item["outcome"], Item["reason"]]>> = {
  done: ["settled", "carried_out"],
  ended: ["settled", "refused"],
  later: ["kept", "put_off"],
};

const itemOf = (
  { owner, name }: DeliveryRow,
  outcome: Item["outcome"],
  reason: Item["reason"],
  detail: string | null = null,
): Item => ({ uid: null, owner, name, providerId: null, outcome, reason, detail });
