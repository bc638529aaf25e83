import * as z from "zod";
import type { CountedMachine } from "../../lifecycle/refusal.ts";
import { toEur } from "../../machine/money.ts";
import { timeOf } from "./times.ts";

/** What a limit allows, what of it is taken, and what was asked for. */
export const figures = z
  .object({
    limit: z.union([z.string(), z.number()]),
    used: z.number().optional(),
    asked: z.union([z.string(), z.number()]),
    unit: z.string().optional().meta({ example: "EUR", description: "the currency, where they do not count machines" }),
    month: z.string().optional().meta({ example: "2026-12" }),
  })
  .optional()
  .meta({ description: "what the policy allows and what was asked for, in the configuration's units" });

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
  expires_at: timeOf(expiresAt),
  cost_eur: toEur(costMicroEur),
});
