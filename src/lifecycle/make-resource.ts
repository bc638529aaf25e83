import { DriverError, looking } from "../driver/driver.ts";
import { ourLabels, uidIn } from "../machine/labels.ts";
import { providerName } from "../machine/name.ts";
import type { Resource, ResourceRow } from "../machine/resource.ts";
import type { NewResource } from "../store/resources.ts";
import type { Context } from "./context.ts";
import { done, onDriverError, refusalOf, refused, type Outcome, type Refusal } from "./refusal.ts";
import { findByUid } from "./resources.ts";
import { saysNothingMade, trying, type Claim } from "./trying.ts";

/** The one that a create answers. */
export interface CreatedResource {
  readonly row: ResourceRow;
  readonly isNew: boolean;
}

/** Makes a try for one under a claim, which is given back where the try ends before it is over. */
export const tryingResource = <T>(
  { store, now }: Context,
  uid: string,
  claim: Claim,
  act: () => Promise<T>,
): Promise<T> => trying(claim, now, (error) => store.resources.giveBackTry(uid, claim.untils, error, now()), act);

/** Makes at the provider what a row stands for, under a claim that is held, and writes down what came of it. */
export function makeResource(context: Context, row: NewResource, claim: Claim): Promise<Outcome<CreatedResource>> {
  const { resources } = context.store;
  const { resumed } = claim;
  return onDriverError(
    async () => {
      const seen = await makeAtProvider(context, row, resumed);
      const recorded = await resources.made(row.uid, seen);
      if (recorded) return done({ row: recorded, isNew: !resumed });
      // Another try was quicker, and what this one made beside it the hourly look finds.
      const current = await resources.byUid(row.uid);
      if (current?.phase === "active") return done({ row: current, isNew: false });
      // Or its row has ended meanwhile, on its owner's word: what was made goes too, as soon as the sweep has looked.
      await resources.reopen(row.uid, seen.id, context.now());
      return refused(GOING);
    },
    async (error) => {
      const refusal = refusalOf(error);
      // Names are no keys here: who has this one was looked for by uid, and is another.
      const isTaken = error.code === "name_taken" && !error.ambiguous;
      const isDefinite = !resumed && (saysNothingMade(error) || isTaken);
      if (isDefinite) await resources.fail(row.uid, refusal.code, context.now());
      else await resources.giveBackTry(row.uid, claim.untils, error.message, context.now());
      return refused(refusal);
    },
  );
}

async function makeAtProvider(context: Context, row: NewResource, resumed: boolean): Promise<Resource> {
  if (resumed) {
    const before = await findByUid(context, row);
    if (before) return before;
  }
  const asking = async (name: string) => {
    const made = await ask(context, row, name);
    // A key may be one that was there before; of all else the answer must be about what was asked for.
    if (row.spec.kind === "ssh_key" || uidIn(made.labels) === row.uid) return made;
    throw new DriverError("unexpected", "the provider's answer is about another one", { ambiguous: true });
  };
  const asked = async (error: DriverError) => {
    if (error.code !== "name_taken" && !error.ambiguous) throw error;
    const after = await looking(error, () => findByUid(context, row));
    if (after) return after;
    // What was given up keeps its name at the provider. Names are no keys here, so that another one does as well.
    const isLost = error.code === "name_taken" && (await context.store.resources.isNameLost(row));
    if (!isLost) throw error;
    const { installation, uid } = row;
    return asking(await providerName(installation, uid, row.name));
  };
  return onDriverError(() => asking(row.providerName), asked);
}

async function ask({ capabilities, rules }: Context, row: NewResource, name: string): Promise<Resource> {
  const { spec } = row;
  const labels = { ...row.labels, ...ourLabels({ ...row, maxUntil: row.requestedAt + rules.maxAgeMs }) };
  switch (spec.kind) {
    case "ssh_key":
      if (capabilities.sshKeys) return (await capabilities.sshKeys.ensure(name, spec.publicKey, labels)).key;
      break;
    case "firewall":
      if (capabilities.firewalls) return capabilities.firewalls.create({ ...spec, name, labels, machineIds: [] });
      break;
    case "network":
      if (capabilities.networks) return capabilities.networks.create({ ...spec, name, labels });
  }
  throw new DriverError("invalid_input", `the provider offers no ${spec.kind}`);
}

export const GOING: Refusal = {
  code: "releasing",
  message: "What had this name, or is this key, is still being deleted.",
  next: "Repeat the call when it is gone.",
  retryAfterSeconds: 5,
};
