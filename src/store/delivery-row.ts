import * as z from "zod";
import { DELIVERY_ACTS, DELIVERY_STATES, type DeliveryRow } from "../machine/delivery.ts";
import { jsonText } from "./rows.ts";

/** A row of `deliveries` as D1 returns it, in the domain's words. */
export const deliveryRow: z.ZodType<DeliveryRow> = z
  .object({
    uid: z.string(),
    hook: z.string(),
    delivery: z.string(),
    rule: z.int().nullable(),
    source: z.string().nullable(),
    owner: z.string(),
    name: z.string(),
    act: z.enum(DELIVERY_ACTS),
    rank: z.int(),
    ttl: z.string().nullable(),
    labels: jsonText(z.record(z.string(), z.string())),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    next_try_at: z.int().nullable(),
    received_at: z.int(),
    finished_at: z.int().nullable(),
    machine_uid: z.string().nullable(),
    reason: z.string().nullable(),
    detail: z.string().nullable(),
  })
  .transform(({ next_try_at, received_at, finished_at, machine_uid, ...row }) => ({
    ...row,
    nextTryAt: next_try_at,
    receivedAt: received_at,
    finishedAt: finished_at,
    machineUid: machine_uid,
  }));
