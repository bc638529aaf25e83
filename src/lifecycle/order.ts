import { MOST_ATTACHED, MOST_MADE_WITH, type Attachment } from "../machine/attachment.ts";
import { checkLife } from "../machine/lease.ts";
import type { Labels } from "../machine/machine.ts";
import { checkRequest, DEFAULT_IMAGE, type MachineRequest } from "../machine/spec.ts";
import { invalid, valid, type Checked } from "../machine/validation.ts";
import type { LendingRules } from "./context.ts";

/**
 * All that a caller may ask of a machine. What is left out was not said, which is not the same as saying the default: the two are
 * different specs (`spec-hash.ts`).
 */
export interface MachineOrder {
  /** In order of preference; left out where `arch` says what to pick from. */
  readonly serverTypes?: readonly string[] | undefined;
  /** In order of preference. */
  readonly regions: readonly string[];
  readonly arch?: string | undefined;
  /** A name, an id, or what labels the newest snapshot is to have. */
  readonly image?: string | number | { readonly labelSelector: string } | undefined;
  readonly labels?: Labels | undefined;
  readonly cloudInit?: string | undefined;
  readonly enableIpv4?: boolean | undefined;
  readonly enableIpv6?: boolean | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** A length, as `30m`; left out, the default. */
  readonly ttl?: string | undefined;
  /** A length; left out, a machine whose job failed is not kept. */
  readonly keepOnFailure?: string | undefined;
}

/** An order that breaks no rule, its defaults filled in. */
export interface CheckedOrder {
  readonly request: MachineRequest;
  readonly attachments: readonly Attachment[];
  /** Null = the default. */
  readonly ttlMs: number | null;
  /** Null = not at all. */
  readonly keepOnFailureMs: number | null;
}

/** Checks an order by every rule that needs neither provider nor database. The first broken rule is named. */
export function checkOrder(order: MachineOrder, { maxAgeMs }: Pick<LendingRules, "maxAgeMs">): Checked<CheckedOrder> {
  const { serverTypes, arch, attachments = [] } = order;
  if (serverTypes === undefined && arch === undefined)
    return invalid("server_type", "is required, unless `arch` says what to pick from");
  if (serverTypes !== undefined && arch !== undefined)
    return invalid("arch", "must be left out where server_type is given: a type has its own");
  const counted = checkNumber(attachments);
  if (!counted.ok) return counted;
  const request = checkRequest(requestOf(order), attachments);
  if (!request.ok) return request;
  const ttl = checkIfSaid("ttl", order.ttl, maxAgeMs);
  if (!ttl.ok) return ttl;
  const kept = checkIfSaid("keep_on_failure", order.keepOnFailure, maxAgeMs);
  if (!kept.ok) return kept;
  return valid({ request: request.value, attachments, ttlMs: ttl.value, keepOnFailureMs: kept.value });
}

function checkNumber(attachments: readonly Attachment[]): Checked<readonly Attachment[]> {
  const [made] = attachments.filter(({ by }) => by === "spec").slice(MOST_MADE_WITH);
  if (made !== undefined)
    return invalid(made.field, `must be created before: at most ${MOST_MADE_WITH} are made with a machine`);
  const isBeyond = (one: Attachment): boolean =>
    attachments.filter(({ kind }) => kind === one.kind).indexOf(one) >= MOST_ATTACHED[one.kind];
  const beyond = attachments.find(isBeyond);
  return beyond === undefined
    ? valid(attachments)
    : invalid(beyond.field, `must be left out: a machine takes at most ${MOST_ATTACHED[beyond.kind]} of them`);
}

const checkIfSaid = (field: string, text: string | undefined, maxAgeMs: number): Checked<number | null> =>
  text === undefined ? valid(null) : checkLife(field, text, maxAgeMs);

const requestOf = ({ image, cloudInit, labels, enableIpv4, enableIpv6 }: MachineOrder): MachineRequest => ({
  image: typeof image === "object" ? image.labelSelector.trim() : String(image ?? DEFAULT_IMAGE),
  isImageSelector: typeof image === "object",
  cloudInit: cloudInit ?? "",
  labels: labels ?? {},
  enableIpv4: enableIpv4 ?? true,
  enableIpv6: enableIpv6 ?? true,
});
