import { destroySeen } from "../driver/destroy-seen.ts";
import { adoptCredential } from "../lifecycle/credential.ts";
import { tellLabel } from "../lifecycle/renew.ts";
import { selectorOf } from "../machine/ownership.ts";
import { isDoomed, RECORDS, remaining, type Case } from "./case.ts";
import { concernsAll, failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { LABEL_CALLS } from "./labels.ts";

/** Writes down the intent to destroy. What was renewed between the look and the claim is kept: the renewal won. */
export async function claim({ store, credential, now }: PhaseContext, cases: readonly Case[]): Promise<Case[]> {
  const doomed = cases.filter(isDoomed);
  await adoptCredential(
    { store, credential },
    doomed.map(({ row }) => row),
  );
  const dooms = doomed.map(({ row, machine, why }) => ({
    uid: row.uid,
    reason: why,
    expiresAt: row.expiresAt,
    lacking: why === "attach_failed" ? row.attachments : null,
    providerId: machine.providerId,
    createdAt: machine.createdAt,
  }));
  const won = await store.endings.claimDestroy(dooms, now());
  return cases.map((one) => {
    if (!isDoomed(one)) return one;
    return won.has(one.row.uid)
      ? { ...one, isClaimed: true }
      : { ...one, act: "keep", outcome: "kept", reason: "live" };
  });
}

/** Carries out what was decided, and tells what came of each, in their order. */
export function actAll(context: PhaseContext, cases: readonly Case[], tell: (one: Case) => void): Promise<void> {
  return inPace(context.pace, cases, {
    costOf: (one) => (isDoomed(one) ? DELETE : one.act === "label" ? LABEL : null),
    rest: () => ({ fetches: 0, statements: RECORDS - 1 }),
    act: (one) => carryOut(context, one),
    stopped: ({ row }, stop) => remaining(row, stop),
    tell: (_one, came) => tell(came),
  });
}

const DELETE = { fetches: 1, statements: 0 };
const LABEL = { fetches: LABEL_CALLS, statements: 1 };

/** Each failure is its own (I8), save those that would meet all. */
async function carryOut(context: PhaseContext, one: Case): Promise<Case> {
  try {
    if (isDoomed(one)) await destroySeen(context.driver, one.machine, selectorOf(one.row, context.rules));
    else if (one.act === "label")
      return (await tellLabel(context, one.row)).outcome === "told"
        ? { ...one, reason: "label" }
        : { ...one, act: "wait", outcome: "error", reason: "label_behind" };
    return one;
  } catch (error) {
    return failed(context, one, error);
  }
}

/** A failure of one; where it would meet every other too, nothing more is begun. */
export function failed(context: PhaseContext, one: Case, error: unknown): Case {
  const failure = failureOf(error);
  if (concernsAll(error)) context.pace.refuse(failure.detail);
  return { ...one, act: "wait", outcome: needsSomebody(error) ? "alert" : "error", ...failure };
}
