import { DriverError, looking, type DriverErrorCode } from "../driver/driver.ts";
import type { Capabilities, Resources } from "../driver/capabilities.ts";
import { isOurs, ourSelector } from "../machine/ownership.ts";
import type { Rules } from "../machine/rules.ts";
import { LABEL, ourLabels, uidIn } from "../machine/labels.ts";
import { providerName } from "../machine/name.ts";
import {
  isLiveResource,
  type Resource,
  type ResourceKind,
  type ResourceRow,
  type ResourceSpec,
} from "../machine/resource.ts";
import { specText } from "../store/resource-row.ts";
import type { NewResource } from "../store/resources.ts";
import { done, onDriverError, refusalOf, refused, type Outcome, type Refusal } from "./refusal.ts";
import type { Context } from "./context.ts";
import { CREATES_OFF, specMismatch, TRY_MS, type Terms } from "./terms.ts";

/** The one that a create answers. */
export interface CreatedResource {
  readonly row: ResourceRow;
  readonly isNew: boolean;
}

export interface ResourceCommand {
  readonly owner: string;
  readonly name: string;
  /** Checked by the rules of its kind. */
  readonly spec: ResourceSpec;
  /** Length of its own lease; null for one that is made with a machine and goes when that goes. */
  readonly ttlMs: number | null;
  readonly machineUid: string | null;
}

export type ResourceDeps = Context & { readonly terms: Terms };

/** What the provider offers of a kind; undefined where it has none. */
export function resourcesOf({ firewalls, networks, sshKeys }: Capabilities, kind: ResourceKind): Resources | undefined {
  return { firewall: firewalls, network: networks, ssh_key: sshKeys }[kind];
}

/**
 * Makes a firewall, a network or a key: the row first, then the provider, then the record. Owner, kind and name decide which one is
 * meant, as with machines: a repeat is the same one, another spec is `spec_mismatch`. A repeat renews only a lease that has
 * ended. A key whose bytes the provider has already, under whatever name, is that key (S98, S100).
 */
export async function createResource(deps: ResourceDeps, command: ResourceCommand): Promise<Outcome<CreatedResource>> {
  const { store, terms } = deps;
  const { owner, name, spec } = command;
  // Twice, because a row can appear, or end, between the look and the insert.
  for (let look = 0; look < 2; look++) {
    const existing = await store.resources.byName(spec.kind, owner, name);
    if (existing !== null && isLiveResource(existing)) return repeat(deps, existing, command);
    if (!terms.creates) return refused(CREATES_OFF);
    const made = await createNew(deps, command);
    if (made.ok || made.refusal !== GOING) return made;
  }
  return refused(GOING);
}

/** The same of one whose name is known to be new. */
export async function createNew(deps: ResourceDeps, command: ResourceCommand): Promise<Outcome<CreatedResource>> {
  const { store, terms, now } = deps;
  const { owner, name, spec } = command;
  if (resourcesOf(deps.capabilities, spec.kind) === undefined) return refused(notOffered(spec.kind));
  const row: NewResource = {
    uid: deps.newUid(),
    owner,
    name,
    provider: terms.provider,
    providerName: await providerName(terms.installation, owner, name),
    installation: terms.installation,
    spec,
    requestedAt: now(),
    expiresAt: now() + (command.ttlMs ?? 0),
  };
  const isHeld = await store.resources.insert(row, row.requestedAt + TRY_MS, command.machineUid);
  return isHeld ? make(deps, row, false) : refused(GOING);
}

async function repeat(
  deps: ResourceDeps,
  row: ResourceRow,
  command: ResourceCommand,
): Promise<Outcome<CreatedResource>> {
  const { store } = deps;
  const now = deps.now();
  if (row.phase === "deleting" || row.deleteRequestedAt !== null) return refused(GOING);
  if (specText(row.spec) !== specText(command.spec)) return refused(specMismatch(row.name));
  let current: ResourceRow | null = row;
  if (row.expiresAt <= now && command.ttlMs !== null)
    current = await store.resources.renew(row.uid, now + command.ttlMs);
  if (current === null) return refused(GOING);
  const mayTry = row.phase === "requested" && (await store.resources.claimTry(row.uid, now, now + TRY_MS));
  return mayTry ? make(deps, current, true) : done({ row: current, isNew: false });
}

/** `resumed`: an earlier try may have had an effect that nobody saw. */
function make(deps: ResourceDeps, row: NewResource, resumed: boolean): Promise<Outcome<CreatedResource>> {
  const { resources } = deps.store;
  return onDriverError(
    async () => {
      const seen = await makeAtProvider(deps, row, resumed);
      const recorded = await resources.made(row.uid, seen);
      if (recorded) return done({ row: recorded, isNew: !resumed });
      // Another try was quicker, and what this one made beside it the hourly look finds.
      const current = await resources.byUid(row.uid);
      if (current?.phase === "active") return done({ row: current, isNew: false });
      // Or its row has ended meanwhile, on its owner's word: what was made goes too, as soon as the sweep has looked.
      await resources.reopen(row.uid, seen.id, deps.now());
      return refused(GOING);
    },
    async (error) => {
      const refusal = refusalOf(error);
      const isDefinite = !resumed && !error.ambiguous && NOTHING_MADE.has(error.code);
      if (isDefinite) await resources.fail(row.uid, refusal.code, deps.now());
      else await resources.giveBack(row.uid, error.message, deps.now());
      return refused(refusal);
    },
  );
}

/** Refusals that say that nothing was made, once a look by uid has shown nothing either. */
const NOTHING_MADE: ReadonlySet<DriverErrorCode> = new Set([
  "invalid_input",
  "unauthorized",
  "quota",
  "rate_limited",
  "name_taken",
]);

async function makeAtProvider(deps: ResourceDeps, row: NewResource, resumed: boolean): Promise<Resource> {
  if (resumed) {
    const before = await findByUid(deps, row);
    if (before) return before;
  }
  const asking = async () => {
    const made = await ask(deps, row);
    // A key may be one that was there before; of all else the answer must be about what was asked for.
    if (row.spec.kind === "ssh_key" || uidIn(made.labels) === row.uid) return made;
    throw new DriverError("unexpected", "the provider's answer is about another one", { ambiguous: true });
  };
  return onDriverError(asking, async (error) => {
    if (error.code !== "name_taken" && !error.ambiguous) throw error;
    const after = await looking(error, () => findByUid(deps, row));
    if (after) return after;
    throw error;
  });
}

async function ask({ capabilities, rules }: ResourceDeps, row: NewResource): Promise<Resource> {
  const { spec } = row;
  const name = row.providerName;
  const labels = ourLabels({ ...row, maxUntil: row.requestedAt + rules.maxAgeMs });
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

/** A row's own at the provider, whether its id is known or not. A key that was another's first is not found so. */
export async function findByUid(
  { capabilities, rules }: { capabilities: Capabilities; rules: Pick<Rules, "installations"> },
  row: Pick<ResourceRow, "uid" | "spec">,
): Promise<Resource | null> {
  const selector = ourSelector(rules.installations, { [LABEL.uid]: row.uid });
  const found = (await resourcesOf(capabilities, row.spec.kind)?.list(selector)) ?? [];
  // Not trusted to have selected (S80).
  return found.find((one) => isOurs(one, rules.installations) && uidIn(one.labels) === row.uid) ?? null;
}

const GOING: Refusal = {
  code: "releasing",
  message: "What had this name, or is this key, is still being deleted.",
  next: "Repeat the call when it is gone.",
  retryAfterSeconds: 5,
};
const notOffered = (kind: ResourceKind): Refusal => ({
  code: "invalid_input",
  message: `The provider offers no ${kind}.`,
  next: "Leave it out.",
});
