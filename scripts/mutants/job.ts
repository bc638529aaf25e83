/** What the command asks of those who try bugs for it, and what they answer: all that passes between the processes. */
import { z } from "zod";

export const jobSchema = z.object({
  /** The bug's name; null for the sources as they are. */
  mutant: z.string().nullable(),
  files: z.array(z.string()),
  /** Parts of the names of the tests that are run; where there are none all are. */
  parts: z.array(z.string()),
});

export type Job = z.infer<typeof jobSchema>;

const verdictSchema = z.object({
  /** What failed first, or null where all passed. */
  caught: z.string().nullable(),
  /** Why the tests could not run, which says nothing of the bug. */
  trouble: z.string().nullable(),
  seconds: z.number(),
});

export type Verdict = z.infer<typeof verdictSchema>;

/** As Node hands over what another process sends: with its handle behind it. */
export const answerSchema = z.tuple([verdictSchema], z.unknown());
