import type { Principal } from "../auth/principal.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import { mayBeProviderId, parseRef, type Ref } from "../machine/name.ts";
import { isLiveResource, parseResourceRef, type ResourceKind, type ResourceRow } from "../machine/resource.ts";
import type { Shown } from "../store/machine-reads.ts";
import type { Context } from "./context.ts";
import { breaksRule, done, type Outcome } from "./refusal.ts";

/** For whom something is found. */
type Finder = Pick<Principal, "owner" | "seesAll">;
type Finding = Pick<Context, "store" | "now">;

/**
 * The machine that a ref means to this caller; null = none. Unknown and foreign look the same. What is written like a name means that
 * name, also where its machine has ended or it was given up; only else it is the provider's id of a live machine.
 */
export async function findMachine(context: Finding, principal: Finder, ref: Ref): Promise<MachineRow | null> {
  const { machines } = context.store;
  const row = ref.by === "name" ? await machines.byName(principal.owner, ref.name) : await machines.byUid(ref.uid);
  if (row === null && ref.by === "name") return atProviderId(context, principal, ref.name);
  return row !== null && maySee(principal, row) ? row : null;
}

async function atProviderId({ store, now }: Finding, principal: Finder, text: string): Promise<MachineRow | null> {
  if (!mayBeProviderId(text)) return null;
  const row = await store.machines.liveAt(text);
  if (row === null || !maySee(principal, row)) return null;
  return (await store.tombstones.until(principal.owner, text, now())) === null ? row : null;
}

/** The same, as it is shown. */
export async function findToShow(context: Finding, principal: Finder, ref: Ref): Promise<Shown | null> {
  const { machines } = context.store;
  const shown = await machines.toShow(principal.owner, ref);
  if (shown !== null || ref.by === "uid") return shown !== null && maySee(principal, shown.row) ? shown : null;
  const row = await atProviderId(context, principal, ref.name);
  return row && machines.toShow(principal.owner, { by: "uid", uid: row.uid });
}

/** The same of a firewall, a network or a key. */
export async function findResource(
  { store: { resources } }: Pick<Context, "store">,
  principal: Finder,
  kind: ResourceKind,
  ref: Ref,
): Promise<ResourceRow | null> {
  const { owner } = principal;
  if (ref.by === "uid") {
    const row = await resources.byUid(ref.uid);
    return row?.spec.kind === kind && maySee(principal, row) ? row : null;
  }
  const named = await resources.byName(kind, owner, ref.name);
  return named === null && mayBeProviderId(ref.name) ? resources.liveAt(kind, owner, ref.name) : named;
}

const maySee = ({ owner, seesAll }: Finder, row: { readonly owner: string }): boolean => row.owner === owner || seesAll;

/** The live machines of one owner that texts name; the first that names none is refused, as `field.0` and so on. */
export async function liveMachines(
  context: Finding,
  owner: string,
  texts: readonly string[],
  field: string,
): Promise<Outcome<MachineRow[]>> {
  const rows: MachineRow[] = [];
  for (const [index, text] of texts.entries()) {
    const where = `${field}.${index}`;
    const checked = parseRef(text, where);
    if (!checked.ok) return breaksRule(checked.problem);
    const row = await findMachine(context, { owner, seesAll: false }, checked.value);
    if (row === null || !isLive(row))
      return breaksRule({ field: where, rule: "must be the name or id of a live machine of the same owner" });
    const before = rows.findIndex(({ uid }) => uid === row.uid);
    // A provider refuses all of them then, in the words for what is so already.
    if (before >= 0)
      return breaksRule({ field: where, rule: `must be left out: it is the same machine as \`${field}.${before}\`` });
    rows.push(row);
  }
  return done(rows);
}

/** The live network of one owner that a text in `field` names. */
export async function liveNetwork(
  context: Pick<Context, "store">,
  owner: string,
  text: string,
  field: string,
): Promise<Outcome<ResourceRow>> {
  const checked = parseResourceRef("network", text, field);
  if (!checked.ok) return breaksRule(checked.problem);
  const row = await findResource(context, { owner, seesAll: false }, "network", checked.value);
  if (row !== null && isLiveResource(row)) return done(row);
  return breaksRule({ field, rule: "must be the name or id of a live network of the same owner" });
}
