import type { Principal } from "../auth/principal.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import { parseRef, type Ref } from "../machine/name.ts";
import { isLiveResource, parseResourceRef, type ResourceKind, type ResourceRow } from "../machine/resource.ts";
import type { Shown } from "../store/machine-reads.ts";
import type { Context } from "./context.ts";
import { breaksRule, done, type Outcome } from "./refusal.ts";

/** The machine that a ref means to this caller; null = none. Unknown and foreign look the same. */
export async function findMachine(
  { store: { machines } }: Pick<Context, "store">,
  principal: Principal,
  ref: Ref,
): Promise<MachineRow | null> {
  if (ref.by === "name") return machines.byName(principal.owner, ref.name);
  const row = await machines.byUid(ref.uid);
  return row !== null && maySee(principal, row) ? row : null;
}

/** The same, as it is shown. */
export async function findToShow(
  { store: { machines } }: Pick<Context, "store">,
  principal: Principal,
  ref: Ref,
): Promise<Shown | null> {
  const shown = await machines.toShow(principal.owner, ref);
  return shown !== null && (ref.by === "name" || maySee(principal, shown.row)) ? shown : null;
}

/** The same of a firewall, a network or a key. */
export async function findResource(
  { store: { resources } }: Pick<Context, "store">,
  principal: Principal,
  kind: ResourceKind,
  ref: Ref,
): Promise<ResourceRow | null> {
  if (ref.by === "name") return resources.byName(kind, principal.owner, ref.name);
  const row = await resources.byUid(ref.uid);
  return row?.spec.kind === kind && maySee(principal, row) ? row : null;
}

const maySee = ({ owner, seesAll }: Principal, row: { readonly owner: string }): boolean =>
  row.owner === owner || seesAll;

/** The live machines of one owner that texts name; the first that names none is refused, as `field.0` and so on. */
export async function liveMachines(
  { store: { machines } }: Pick<Context, "store">,
  owner: string,
  texts: readonly string[],
  field: string,
): Promise<Outcome<MachineRow[]>> {
  const rows: MachineRow[] = [];
  for (const [index, text] of texts.entries()) {
    const where = `${field}.${index}`;
    const checked = parseRef(text, where);
    if (!checked.ok) return breaksRule(checked.problem);
    const ref = checked.value;
    const row = ref.by === "name" ? await machines.byName(owner, ref.name) : await machines.byUid(ref.uid);
    if (row?.owner !== owner || !isLive(row))
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
  { store: { resources } }: Pick<Context, "store">,
  owner: string,
  text: string,
  field: string,
): Promise<Outcome<ResourceRow>> {
  const checked = parseResourceRef("network", text, field);
  if (!checked.ok) return breaksRule(checked.problem);
  const ref = checked.value;
  const row = ref.by === "name" ? await resources.byName("network", owner, ref.name) : await resources.byUid(ref.uid);
  if (row?.spec.kind === "network" && row.owner === owner && isLiveResource(row)) return done(row);
  return breaksRule({ field, rule: "must be the name or id of a live network of the same owner" });
}
