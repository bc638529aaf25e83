import * as z from "zod";
import { candidate } from "./candidates.ts";
import { countedMachine, figures } from "./counted-machines.ts";
import { PROBLEM_CODES } from "./problem.ts";

const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(PROBLEM_CODES),
    detail: z.string(),
    field: z.string().optional(),
    rule: z.string().optional(),
    name: z.string().optional().meta({ description: "of the machine that may have been made all the same" }),
    next: z.string().meta({ description: "what the caller can do about it" }),
    fields: z
      .array(z.string())
      .optional()
      .meta({ description: "of `spec_mismatch`: those that were said otherwise, where that is known" }),
    policy: z.string().optional().meta({ description: "whose word it is" }),
    figures,
    limit: z.string().optional().meta({ description: "the limit of the provider's that was met, in its own word" }),
    machines: z
      .array(countedMachine)
      .optional()
      .meta({ description: "those that a limit counts, of the caller's account" }),
    candidates: z.array(candidate).optional().meta({ description: "of a create: what became of each pair" }),
    request_id: z.string(),
  })
  .meta({ id: "Problem", description: "RFC 9457 problem details; `code` is stable" });

/** One answer of a route: what it means, and its shape. */
export const json = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { "application/json": { schema } },
});

/** What every route may answer instead. */
export const problems = {
  default: { description: "An error", content: { "application/problem+json": { schema: problem } } },
};
