import { isLive, type MachineRow } from "../machine/machine.ts";
import { providerName } from "../machine/name.ts";
import type { Attachment } from "../machine/attachment.ts";
import type { Candidate, MachineRequest } from "../machine/spec.ts";
import type { NewMachine } from "../store/machines.ts";
import { checkAttachments } from "./attachments.ts";
import { attempt } from "./attempt.ts";
import { known, RELEASING, type Created } from "./record.ts";
import { refused, type Outcome, type Refusal } from "./refusal.ts";
import type { ResourceDeps } from "./resources.ts";
import { CREATES_OFF, specMismatch, TRY_MS } from "./terms.ts";

export interface CreateCommand {
  readonly owner: string;
  readonly account: string;
  readonly name: string;
  /** Valid by `checkRequest`. */
  readonly request: MachineRequest;
  readonly attachments: readonly Attachment[];
  /** Server types and regions in order of preference, one at least. */
  readonly candidates: readonly [Candidate, ...Candidate[]];
  readonly specSha256: string;
  /** Null = the default. */
  readonly ttlMs: number | null;
  /** Null = not at all. */
  readonly keepOnFailureMs: number | null;
  readonly requestId: string;
}

/**
 * Lends a machine: the row first, then the provider, then the record. Owner and name decide which machine is meant: a
 * repeat is the same machine and never renews it, another spec is `spec_mismatch`, and a name whose machine is gone starts
 * anew (I3, P20). While one call is trying, others are told of the machine to come.
 *
 * An ambiguous failure leaves the row `requested`: the same call again looks and tries once more under the same provider
 * name, which the provider itself refuses to double.
 */
export async function createMachine(deps: ResourceDeps, command: CreateCommand): Promise<Outcome<Created>> {
  const { store, terms } = deps;
  // Twice, because a row can appear, or end, between the look and the insert.
  for (let look = 0; look < 2; look++) {
    const existing = await store.machines.byName(command.owner, command.name);
    if (existing !== null && isLive(existing)) return repeat(deps, existing, command);
    if (!terms.creates) return refused(CREATES_OFF);
    const now = deps.now();
    const forbidden = await store.tombstones.until(command.owner, command.name, now);
    if (forbidden !== null) return refused(givenUp(forbidden - now));
    const usable = await checkAttachments(deps, command.owner, command.attachments);
    if (!usable.ok) return usable;
    const row: NewMachine = {
      uid: deps.newUid(),
      owner: command.owner,
      account: command.account,
      name: command.name,
      provider: terms.provider,
      providerName: await providerName(terms.installation, command.owner, command.name),
      installation: terms.installation,
      credential: terms.credential,
      specSha256: command.specSha256,
      ...command.candidates[0],
      image: command.request.image,
      labels: command.request.labels,
      requestedAt: now,
      expiresAt: now + (command.ttlMs ?? terms.defaultTtlMs),
      maxUntil: now + deps.rules.maxAgeMs,
      keepOnFailureMs: command.keepOnFailureMs,
    };
    if (await store.machines.insert(row, now + TRY_MS, command.requestId)) return attempt(deps, row, command, false);
  }
  return refused(RELEASING);
}

async function repeat(deps: ResourceDeps, row: MachineRow, command: CreateCommand): Promise<Outcome<Created>> {
  if (row.phase === "destroying" || row.expiresAt <= deps.now()) return refused(RELEASING);
  // A row that was lost and found again does not know what was asked for.
  if (row.specSha256 !== "" && row.specSha256 !== command.specSha256) return refused(specMismatch(row.name));
  const now = deps.now();
  const mayTry = row.phase === "requested" && (await deps.store.work.claimCreate(row.uid, now, now + TRY_MS));
  // The try goes out under the credential of now, whatever the one before did.
  const retried = { ...row, credential: deps.terms.credential };
  return mayTry ? attempt(deps, retried, command, true) : known(row);
}

const givenUp = (leftMs: number): Refusal => ({
  code: "released",
  message: `Its owner gave this name up, for ${Math.ceil(leftMs / 1000)} s more.`,
  next: "Nothing, if that was meant; else repeat the call when the tombstone has ended, or use another name.",
  retryAfterSeconds: Math.ceil(leftMs / 1000),
});
