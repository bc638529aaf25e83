import { DELIVERY_ACTS, DELIVERY_STATES, type DeliveryRow } from "../machine/delivery.ts";
import { intOf, intOrNull, odd, oneOf, textOf, textOrNull, textsOf, type Reader } from "./columns.ts";

/** A row of `deliveries` as D1 returns it, in the domain's words. */
export const deliveryRow: Reader<DeliveryRow> = (row) => ({
  uid: textOf(row, "uid"),
  hook: textOf(row, "hook"),
  delivery: textOf(row, "delivery"),
  rule: intOrNull(row, "rule"),
  source: textOrNull(row, "source"),
  owner: textOf(row, "owner"),
  name: textOf(row, "name"),
  act: oneOf(row, "act", DELIVERY_ACTS),
  rank: intOf(row, "rank"),
  ttl: textOrNull(row, "ttl"),
  labels: textsOf(row, "labels") ?? odd("labels"),
  state: oneOf(row, "state", DELIVERY_STATES),
  attempts: intOf(row, "attempts"),
  nextTryAt: intOrNull(row, "next_try_at"),
  receivedAt: intOf(row, "received_at"),
  finishedAt: intOrNull(row, "finished_at"),
  machineUid: textOrNull(row, "machine_uid"),
  reason: textOrNull(row, "reason"),
  detail: textOrNull(row, "detail"),
});
