import * as z from "zod";
import { DURATION_RULE, parseDuration } from "../../machine/duration.ts";
import { STATUSES } from "../../machine/machine.ts";
import { isOwner, OWNER_RULE, parseRef } from "../../machine/name.ts";
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

const ref = checked((text) => parseRef(text));
export const labelSelector = checked((text) => parseLabelSelector(text));
export const providerWord = z.string().refine(isProviderWord, TOKEN_RULE);
const owner = z.string().refine(isOwner, OWNER_RULE);
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
    .default(fallback);
};

/** On every route of what an owner has: an admin may name another. */
export const ownerQuery = z.strictObject({ owner: owner.optional() });
export const refParam = z.object({ ref });

/** Hetzner's list conventions. */
export const paging = { page: wholeNumber(1, 100_000), per_page: wholeNumber(25, 50) };

const waitRule = "must be a whole number of seconds from 0 to 30";
/** How long a call may wait for a machine to run, in seconds. */
export const wait = z
  .string(waitRule)
  .regex(/^([12]?\d|30)$/, waitRule)
  .transform(Number)
  .default(0);

const statusRule = `must be one of ${STATUSES.join(", ")}`;
const status = z.enum(STATUSES, statusRule);
/** `status` may be repeated. */
export const statuses = z.union([status.transform((one) => [one]), z.array(status)], statusRule).default([]);

export const flag = z.enum(["true", "false"], "must be true or false").transform((text) => text === "true");

export const pagination = z.object({
  page: z.int(),
  per_page: z.int(),
  previous_page: z.int().nullable(),
  next_page: z.int().nullable(),
  last_page: z.int(),
  total_entries: z.int(),
});

/** `meta` of a list answer. */
export function metaOf(page: number, perPage: number, total: number) {
  const last = Math.max(1, Math.ceil(total / perPage));
  return {
    pagination: {
      page,
      per_page: perPage,
      previous_page: page > 1 ? Math.min(page - 1, last) : null,
      next_page: page < last ? page + 1 : null,
      last_page: last,
      total_entries: total,
    },
  };
}
