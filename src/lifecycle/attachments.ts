import { sha256Hex } from "../auth/hash.ts";
import type { Attachment } from "../machine/attachment.ts";
import type { Attachments } from "../machine/machine.ts";
import type { MachineSpec } from "../machine/spec.ts";
import type { ResourceKind, ResourceRow, ResourceSpec } from "../machine/resource.ts";
import type { NewMachine } from "../store/machines.ts";
import { specText } from "../store/resource-row.ts";
import type { Context, RequestContext } from "./context.ts";
import { breaksRule, done, refused, type Outcome, type Refusal } from "./refusal.ts";
import { checkExisting } from "./existing.ts";
import { ensureResource, newResource } from "./create-resource.ts";
import type { CreatedResource } from "./make-resource.ts";
import { checkApart } from "./networks-apart.ts";
import { claimLeftMs, type Claim } from "./trying.ts";

export type AttachedIds = Pick<MachineSpec, "sshKeyIds" | "networkIds" | "firewallIds">;

type Named = Attachment & { by: "ref" };
const isNamed = (one: Attachment): one is Named => one.by === "ref";
const textOf = ({ ref }: Named): string => (ref.by === "uid" ? ref.uid : ref.name);
const isMeant = (row: ResourceRow, { kind, ref }: Named): boolean =>
  row.spec.kind === kind && (ref.by === "uid" ? row.uid === ref.uid : row.name === ref.name);

/** The names and ids of what is there already, among all that a machine is to be attached to. */
export const namesOf = (attachments: readonly Attachment[]): readonly string[] =>
  attachments.filter(isNamed).map(textOf);

/** What a machine is to use where all of that is there: what it is noted with, and what the provider is told. */
export interface Standing {
  readonly uids: readonly string[];
  readonly ids: AttachedIds;
}

/**
 * Whether an owner has all that a machine is to be attached to, before anything is written; the first that is missing is named. Null
 * where some of it is to be made with the machine.
 */
export async function checkAttachments(
  { store, capabilities }: Pick<Context, "store" | "capabilities">,
  owner: string,
  attachments: readonly Attachment[],
): Promise<Outcome<Standing | null>> {
  const existing = await checkExisting({ store, capabilities }, attachments);
  if (!existing.ok) return breaksRule(existing.problem);
  const named = attachments.filter(isNamed);
  const known = await store.resources.named(owner, namesOf(attachments));
  const rows: Attached[] = [];
  for (const one of named) {
    const row = known.find((other) => isMeant(other, one));
    const providerId = row?.phase === "active" && !row.deleteRequestedAt ? row.providerId : null;
    if (row === undefined || providerId === null) return refused(notThere(one));
    rows.push({ ...row, providerId });
  }
  const apart = checkApart(attachments.flatMap((one) => joined(one, rows)));
  if (!apart.ok) return breaksRule(apart.problem);
  return done(attachments.some(({ by }) => by === "spec") ? null : standingOf(rows, attachments));
}

/** A network that is named so, or is to be made; of one that is nobody's here the range is not known. */
function joined(one: Attachment, rows: readonly Attached[]) {
  const { field } = one;
  const row = isNamed(one) ? rows.find((other) => isMeant(other, one)) : undefined;
  const spec = one.by === "spec" ? one.spec : row?.spec;
  return spec?.kind === "network" ? [{ field, uid: row?.uid ?? null, ipRange: spec.ipRange }] : [];
}

const standingOf = (rows: readonly Attached[], attachments: readonly Attachment[]): Standing => ({
  uids: [...new Set(rows.map(({ uid }) => uid))],
  ids: idsOf(rows, attachments),
});

/** What comes of having noted so many of those; one that is being deleted by now could not be. */
export const noted = ({ uids, ids }: Standing, count: number): Outcome<AttachedIds> =>
  count < uids.length ? refused(GOING) : done(ids);

/** What the machine is to be seen with once it runs; a key cannot be seen. */
export const toConfirm = ({ firewallIds, networkIds }: AttachedIds): Attachments | null =>
  firewallIds.length + networkIds.length === 0 ? null : { firewallIds, networkIds };

/** Makes under its claim what is to be made with a machine, and notes what the machine uses, which keeps it from being deleted. */
export async function attach(
  context: RequestContext,
  machine: NewMachine,
  attachments: readonly Attachment[],
  claim: Claim,
): Promise<Outcome<AttachedIds>> {
  const { resources } = context.store;
  const known = await resources.named(machine.owner, namesOf(attachments));
  const rows: Attached[] = [];
  for (const [index, one] of attachments.entries()) {
    if (one.by === "id") continue;
    const found = one.by === "ref" ? foundIn(known, one) : await made(context, machine, { ...one, index }, claim);
    if (!found.ok) return found;
    // Another call is making it, and a machine without its firewall is none that anybody asked for.
    const { providerId } = found.value;
    if (providerId === null) return refused(underWay(claimLeftMs(found.value, context.now())));
    rows.push({ ...found.value, providerId });
  }
  const standing = standingOf(rows, attachments);
  return noted(standing, await resources.use(machine.uid, standing.uids));
}

function foundIn(known: readonly ResourceRow[], one: Named): Outcome<ResourceRow> {
  const row = known.find((other) => isMeant(other, one));
  return row === undefined ? refused(notThere(one)) : done(row);
}

async function made(
  context: RequestContext,
  { owner, uid }: NewMachine,
  { spec, index }: { readonly spec: ResourceSpec; readonly index: number },
  { resumed, tokenId }: Claim,
): Promise<Outcome<ResourceRow>> {
  const wanted = { owner, name: madeWithName(uid, index), spec, labels: {}, ttlMs: null, machineUid: uid, tokenId };
  if (!resumed) return rowIn(await newResource(context, wanted));
  const again = await ensureResource(context, wanted);
  if (again.ok || again.refusal.code !== "spec_mismatch") return rowIn(again);
  // The profile has changed since the try before. What was made then goes with the machine, or is found idle.
  const name = `${wanted.name}-${(await sha256Hex(specText(spec))).slice(0, 8)}`;
  return rowIn(await ensureResource(context, { ...wanted, name }));
}

const rowIn = (outcome: Outcome<CreatedResource>): Outcome<ResourceRow> =>
  outcome.ok ? done(outcome.value.row) : outcome;

/** What the one is called that is made with a machine; `index` is its place among all that the machine was asked with. */
export const madeWithName = (machineUid: string, index: number): string => `${machineUid}-${index}`;

/** One that the provider has shown. */
type Attached = ResourceRow & { readonly providerId: string };

function idsOf(rows: readonly Attached[], attachments: readonly Attachment[]): AttachedIds {
  const named = (kind: ResourceKind) =>
    rows.filter(({ spec }) => spec.kind === kind).map(({ providerId }) => providerId);
  const existing = (kind: ResourceKind) =>
    attachments.flatMap((one) => (one.by === "id" && one.kind === kind ? [one.id] : []));
  // Two names may stand for one key, and a provider takes each once.
  const those = (kind: ResourceKind) => [...new Set([...named(kind), ...existing(kind)])];
  return { sshKeyIds: those("ssh_key"), networkIds: those("network"), firewallIds: those("firewall") };
}

function notThere({ field, kind }: Attachment): Refusal {
  const rule = `must be the name or id of a live ${kind} of the same owner`;
  return {
    code: "invalid_input",
    message: `\`${field}\` ${rule}.`,
    next: "Create it first, or say here what it is to be.",
    problem: { field, rule },
  };
}

const GOING: Refusal = {
  code: "releasing",
  message: "What the machine was to use is being deleted.",
  next: "Repeat the call when it is gone and made anew.",
  retryAfterSeconds: 5,
};
const underWay = (leftMs: number): Refusal => ({
  code: "provider_unavailable",
  message: "What the machine is to use is still being made by another call.",
  next: "Repeat the same call; it cannot double anything.",
  // Sooner nobody else may make it.
  retryAfterSeconds: Math.max(5, Math.ceil(leftMs / 1000)),
});
