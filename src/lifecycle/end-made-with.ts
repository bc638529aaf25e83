import type { Attachment } from "../machine/attachment.ts";
import { isLive } from "../machine/machine.ts";
import { StoreError } from "../store/db.ts";
import type { NewMachine } from "../store/machines.ts";
import { madeWithName } from "./attachments.ts";
import { claimLeftMs } from "./trying.ts";
import type { RequestContext } from "./context.ts";
import { deleteClaimed } from "./delete-resource.ts";

/** To read one again and to delete it. */
const FETCHES = 2;
/** What is still written then. */
const RECORDS = 2;

/**
 * Ends what was made with a machine that never came: each is told to go, which the next sweep carries out without a second look, and
 * deleted at once as far as the provider and the invocation's budget let it. Nothing happens where the row lives still, or became another's. Whoever is
 * refused is to hear why: what the database does not take down here, sweeps find as idle.
 */
export async function endMadeWith(
  context: RequestContext,
  { uid, owner }: Pick<NewMachine, "uid" | "owner">,
  attachments: readonly Attachment[],
): Promise<void> {
  const { machines, resources } = context.store;
  const names = attachments.flatMap(({ by }, index) => (by === "spec" ? [madeWithName(uid, index)] : []));
  if (names.length === 0) return;
  try {
    const row = await machines.byUid(uid);
    if (row === null || isLive(row)) return;
    const made = await resources.named(owner, names);
    const now = context.now();
    const going = await resources.requestDelete(
      made.map((one) => one.uid),
      now,
    );
    const isBeingMade = (one: (typeof going)[number]): boolean =>
      one.phase === "requested" && claimLeftMs(one, now) > 0;
    const ready = going.filter((one) => !isBeingMade(one));
    if (!context.affords({ fetches: FETCHES, statements: RECORDS + 1 })) return;
    let isRefused = false;
    await deleteClaimed(context, await resources.claimDelete(ready, now), {
      async goOn(underWay) {
        // Where the provider takes nothing, the others need not be tried as well: of that the first one tells.
        if (underWay > 0) return "later";
        return !isRefused && context.affords({ fetches: FETCHES, statements: RECORDS });
      },
      onDone: (last) => void (isRefused ||= last.act === "postpone" && last.error !== undefined),
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}
