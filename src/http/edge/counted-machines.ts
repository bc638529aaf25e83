import * as z from "zod";
import type { CountedMachine } from "../../lifecycle/refusal.ts";
import { toEur } from "../../machine/money.ts";

/** A machine that a limit counts. */
export const countedMachine = z.object({
  name: z.string(),
  owner: z.string(),
  expires_at: z.iso.datetime(),
  cost_eur: z.number().nullable(),
});
export const countedJson = ({
  name,
  owner,
  expiresAt,
  costMicroEur,
}: CountedMachine): z.infer<typeof countedMachine> => ({
  name,
  owner,
  expires_at: new Date(expiresAt).toISOString(),
  cost_eur: toEur(costMicroEur),
});
