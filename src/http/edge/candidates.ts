import * as z from "zod";
import type { TriedCandidate } from "../../lifecycle/refusal.ts";

/** What became of a pair of server type and region at a create. */
export const candidate = z.object({
  server_type: z.string(),
  region: z.string(),
  outcome: z.enum(["chosen", "capacity", "refused", "not_tried"]),
  reason: z.string().nullable(),
});
export const candidateJson = ({ serverType, region, outcome, reason }: TriedCandidate): z.infer<typeof candidate> => ({
  server_type: serverType,
  region,
  outcome,
  reason,
});
