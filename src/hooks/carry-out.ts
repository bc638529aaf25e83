/** What a delivery asks for is done: by the call that took it on, else by a sweep. */
import { hookCaller } from "../auth/hook-caller.ts";
import { tokenPolicy, type Policy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { RequestContext } from "../lifecycle/context.ts";
import { createMachine } from "../lifecycle/create.ts";
import { readsOfCreate } from "../lifecycle/plan.ts";
import { destroyMachine } from "../lifecycle/destroy.ts";
import { done, type Outcome, type Refusal, type RefusalCode } from "../lifecycle/refusal.ts";
import { renewMachine } from "../lifecycle/renew.ts";
import { longestOf } from "../lifecycle/rights.ts";
import { OLDEST_RANK_MS, type DeliveryReason, type DeliveryRow } from "../machine/delivery.ts";
import { formatDuration, parseDuration } from "../machine/duration.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import type { Store } from "../store/store.ts";
import type { Hook } from "./hook.ts";

/** Whoever carries a delivery out has so long for it: twice as long as a call may go on after its answer. */
export const CLAIM_MS = 60_000;
/** How long a create waits for a limit or for room; one whose lease would be shorter, for as long as that. */
const PATIENCE_MS = 3_600_000;
const SHORTEST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 8 * 60_000;

/** What deliveries are carried out with. */
export interface Carrying {
  readonly store: Pick<Store, "deliveries">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly hooks: ReadonlyMap<string, Hook>;
  readonly policies: readonly Policy[];
  /** What use cases work with on the word of that caller; it changes nothing once that delivery has ended. Null = whatever ends. */
  readonly openFor: (caller: Principal, delivery: string | null) => RequestContext;
}

/** What came of a try: it is done, it will never be, or there will be another. */
export type Carried = "done" | "ended" | "later";

/**
 * Carries out a create or a renewal that is claimed. What has to wait, for a limit, for room, or for the machine that had the name
 * before, is put off; what will never be done ends, and says why. Failures of the database surface, and leave it to the next sweep.
 */
export async function carryOut(work: Carrying, row: DeliveryRow): Promise<Carried> {
  const caller = callerOf(work, row);
  if (typeof caller === "string") return end(work, row, { code: caller, message: null });
  if (work.now() - row.rank > OLDEST_RANK_MS) return end(work, row, { code: "too_old", message: null });
  const context = work.openFor(caller, row.uid);
  const profile = work.hooks.get(row.hook)?.profile ?? undefined;
  if (row.act === "create") await readAhead(context, row, profile);
  const machine = await context.store.machines.byName(row.owner, row.name);
  const lengthMs = lengthOf(context, caller.policy, row.ttl ?? context.rules.profiles.get(profile ?? "")?.ttl);
  const outcome = await (machine !== null && isLentStill(machine, context.now())
    ? prolong(context, caller, machine, lengthMs)
    : row.act === "renew"
      ? done(null)
      : create(context, caller, row, profile));
  if (!outcome.ok) {
    const isOver = work.now() - row.receivedAt >= Math.min(PATIENCE_MS, lengthMs);
    const { code } = outcome.refusal;
    const isLast = FOR_GOOD.has(code) || (isOver && !TROUBLE.has(code));
    return isLast ? end(work, row, outcome.refusal) : putOff(work, row, outcome.refusal);
  }
  // Somebody is at it, or nobody knows what came of it: it is done when the machine is seen.
  if (outcome.value?.phase === "requested") return putOff(work, row, { code: "creating", message: null });
  const [machineUid, reason] = outcome.value === null ? [null, "no_machine"] : [outcome.value.uid, null];
  await work.store.deliveries.finish(row.uid, { state: "done", machineUid, reason, detail: null }, work.now());
  return "done";
}

/** The word is down, and a sweep would go by it: this spares the machine the minute until then. */
export async function carryOutEnd(work: Carrying, row: DeliveryRow): Promise<void> {
  const caller = callerOf(work, row);
  if (typeof caller === "string" || row.machineUid === null) return;
  const context = work.openFor(caller, null);
  const machine = await context.store.machines.byUid(row.machineUid);
  if (machine !== null && isLive(machine)) await destroyMachine(context, machine);
}

/** Who asks, as the configuration is now: a hook, or a repository, that was taken out of it makes nothing more. */
function callerOf({ hooks, policies }: Carrying, row: DeliveryRow): Principal | DeliveryReason {
  const hook = hooks.get(row.hook);
  const policy = hook && tokenPolicy(policies, hook.policy);
  if (!hook || !policy || (row.act === "create" && hook.profile === null)) return "hook_gone";
  const { sources } = hook;
  const isTaken = sources === null || sources.by === "installation" || sources.ids.has(row.source ?? "");
  return isTaken ? hookCaller(row, policy) : "source_gone";
}

const isLentStill = ({ phase, expiresAt }: MachineRow, now: number): boolean => phase === "active" && expiresAt > now;

/** How long a lease is to be, in milliseconds. */
const lengthOf = ({ rules }: RequestContext, policy: Policy, said: string | undefined): number =>
  (said === undefined ? null : parseDuration(said)) ?? Math.min(rules.defaultTtlMs, longestOf(policy, rules));

/** Moves a machine's end to that from now, as far as it may go: what lives to its limit is no reason to refuse. */
async function prolong(
  context: RequestContext,
  caller: Principal,
  machine: MachineRow,
  lengthMs: number,
): Promise<Outcome<MachineRow>> {
  if (context.now() + lengthMs <= machine.expiresAt) return done(machine);
  const renewed = await renewMachine(context, caller, machine, formatDuration(Math.max(lengthMs, SHORTEST_MS)));
  if (renewed.ok) return done(renewed.value.row);
  return renewed.refusal.about === "end" ? done(machine) : renewed;
}

/** A lease is asked for by no less. */
const SHORTEST_MS = 60_000;

/** Reads in one trip what a create is about to read; its first look is the one that tells whether it is one. */
function readAhead(context: RequestContext, { owner, name }: DeliveryRow, profile = ""): Promise<void> {
  const { attachments = [] } = context.rules.profiles.get(profile) ?? {};
  return context.store.ahead.ofOwner(owner, (reads, whose) =>
    readsOfCreate(context, reads, whose, { name, attachments }),
  );
}

async function create(
  context: RequestContext,
  caller: Principal,
  { name, ttl, labels, rule }: DeliveryRow,
  profile: string | undefined,
): Promise<Outcome<MachineRow>> {
  // Those that a rule adds are told where they may be; those that the sender has said are its own to be refused.
  const isToSay = Object.keys(labels).length > 0 && (rule === null || !caller.policy.onlyProfiles);
  const order = { profile, ttl: ttl ?? undefined, labels: isToSay ? labels : undefined };
  const created = await createMachine(context, caller, name, order);
  return created.ok ? done(created.value.row) : created;
}

/** No other try would come to anything else. */
const FOR_GOOD: ReadonlySet<RefusalCode> = new Set([
  "invalid_input",
  "forbidden",
  "limit_lease",
  "name_taken",
  "provider_protected",
  "identity_mismatch",
  "not_found",
]);
/** Nobody's fault that could be mended by asking for less: tried until the fact itself is too old. */
const TROUBLE: ReadonlySet<RefusalCode> = new Set([
  "provider_unavailable",
  "provider_unauthorized",
  "installation_changed",
]);
/** What is on its way already. */
const SOON: ReadonlySet<string> = new Set(["creating", "releasing", "released", "expired", "spec_mismatch"]);

/** A refusal, or a reason of ours, which speaks for itself. */
type Why = Pick<Refusal, "code" | "message"> | { readonly code: DeliveryReason; readonly message: null };

async function end({ store, now }: Carrying, { uid, machineUid }: DeliveryRow, why: Why): Promise<Carried> {
  const state = why.code === "too_old" ? "ignored" : "refused";
  await store.deliveries.finish(uid, { state, machineUid, reason: why.code, detail: why.message }, now());
  return "ended";
}

async function putOff({ store, now }: Carrying, row: DeliveryRow, { code, message }: Why): Promise<Carried> {
  const waitMs = SOON.has(code)
    ? SHORTEST_WAIT_MS
    : Math.min(SHORTEST_WAIT_MS * 2 ** Math.max(0, row.attempts - 1), LONGEST_WAIT_MS);
  await store.deliveries.postpone(row, now() + waitMs, { reason: code, detail: message });
  return "later";
}
