import * as z from "zod";
import { IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from "../../auth/idempotency-key.ts";
import { parseOwner, withPrefix } from "../../auth/owner-key.ts";
import { DURATION_RULE, parseDuration } from "../../machine/duration.ts";
import { EVENT_KINDS } from "../../machine/event.ts";
import { STATUSES } from "../../machine/machine.ts";
import { isOwner, parseRef } from "../../machine/name.ts";
import { ROW_REASONS } from "../../machine/reason.ts";
import { isProviderWord, TOKEN_RULE } from "../../machine/spec.ts";
import { parseLabelSelector } from "../../machine/selector.ts";
import type { Checked } from "../../machine/validation.ts";

/** Text that a rule of the domain reads; what it says against it becomes the issue. */
const checked = <T>(read: (text: string) => Checked<T>) =>
  z.string().transform((text, context): T => {
    const result = read(text);
    if (result.ok) return result.value;
    context.addIssue(result.problem.rule);
    return z.NEVER;
  });

/** A machine by its id or a name. */
export const machineRef = checked((text) => parseRef(text));
export const labelSelector = checked((text) => parseLabelSelector(text)).meta({
  type: "string",
  example: "run=1,!kept",
});
export const labels = z.record(z.string(), z.string("must be text"), "must be an object of texts");
export const providerWord = z.string().refine(isProviderWord, TOKEN_RULE);
const owner = checked((text) => parseOwner(text)).meta({ type: "string", example: "tok.alice" });
export const account = z
  .string()
  .refine(isOwner, "must be an account: at most 63 lower-case letters, digits, `.` and `-`, like `gh.4711`")
  .transform(withPrefix)
  .meta({ type: "string", example: "gh.4711" });
export const duration = z
  .string({ error: ({ input }) => (input === undefined ? "is required" : DURATION_RULE) })
  .refine((text) => parseDuration(text) !== null, DURATION_RULE);

const wholeNumber = (fallback: number, most: number) => {
  const rule = `must be a whole number from 1 to ${most}`;
  return z
    .string(rule)
    .regex(/^[1-9]\d{0,5}$/, rule)
    .transform(Number)
    .refine((number) => number <= most, rule)
    .default(fallback)
    .meta({ type: "integer", minimum: 1, maximum: most, default: fallback });
};

/** On every route that makes something under no name of the caller's. */
export const keyHeader = z.object({
  "Idempotency-Key": z.string().refine(isIdempotencyKey, IDEMPOTENCY_KEY_RULE).optional(),
});

/** On every route of what an owner has: an admin may name another. */
export const ownerQuery = z.strictObject({ owner: owner.optional() });
export const refParam = z.object({ ref: machineRef });

/** Hetzner's list conventions. */
export const paging = { page: wholeNumber(1, 100_000), per_page: wholeNumber(25, 50) };

const waitRule = "must be a whole number of seconds from 0 to 30";
/** How long a call may wait for a machine to run, in seconds. */
export const wait = z
  .string(waitRule)
  .regex(/^([12]?\d|30)$/, waitRule)
  .transform(Number)
  .default(0)
  .meta({ type: "integer", minimum: 0, maximum: 30, default: 0 });

/** A parameter that may be repeated, as the document has it. */
const listOf = (words: readonly string[]) => ({ type: "array", items: { type: "string", enum: words } });

const statusRule = `must be one of ${STATUSES.join(", ")}`;
const status = z.enum(STATUSES, statusRule);
/** `status` may be repeated. */
export const statuses = z
  .union([status.transform((one) => [one]), z.array(status)], statusRule)
  .default([])
  .meta(listOf(STATUSES));

const kindRule = `must be one of ${EVENT_KINDS.join(", ")}`;
const kind = z.enum(EVENT_KINDS, kindRule);
/** So may `kind`. */
export const eventKinds = z
  .union([kind.transform((one) => [one]), z.array(kind)], kindRule)
  .default([])
  .meta(listOf(EVENT_KINDS));

const REASONS = [...new Set(ROW_REASONS)];
export const reason = z.enum(REASONS, `must be one of ${REASONS.join(", ")}`);

const sinceRule = 'must be a time like 2026-11-30T12:00:00Z (RFC 3339), or a length back from now like "24h"';
/** From when on: at a time, or so long ago, in milliseconds. */
type Since = { readonly at: number } | { readonly ago: number };
const time = z.iso.datetime({ offset: true });
export const since = z.string(sinceRule).transform((text, context): Since => {
  const ago = parseDuration(text);
  if (ago !== null) return { ago };
  if (time.safeParse(text).success) return { at: Date.parse(text) };
  context.addIssue(sinceRule);
  return z.NEVER;
});
/** The moment that is meant at `now`, unix milliseconds. */
export const sinceTime = (meant: Since, now: number): number => ("at" in meant ? meant.at : now - meant.ago);

export const flag = z
  .enum(["true", "false"], "must be true or false")
  .transform((text) => text === "true")
  .meta({ type: "boolean" });

export const pagination = z
  .object({
    page: z.int(),
    per_page: z.int(),
    previous_page: z.int().nullable(),
    next_page: z.int().nullable(),
    last_page: z
      .int()
      .nullable()
      .meta({ description: "null where nobody counts them: of what has ended, and of all that is only ever added to" }),
    total_entries: z.int().nullable(),
  })
  .meta({ id: "Pagination" });

/** `meta` of a list answer. */
export function metaOf(
  { page, perPage }: { readonly page: number; readonly perPage: number },
  { hasMore, total }: { readonly hasMore: boolean; readonly total: number | null },
) {
  const last = total === null ? null : Math.max(1, Math.ceil(total / perPage));
  return {
    pagination: {
      page,
      per_page: perPage,
      previous_page: page > 1 ? Math.min(page - 1, last ?? page) : null,
      next_page: hasMore ? page + 1 : null,
      last_page: last,
      total_entries: total,
    },
  };
}
