import { LABEL } from "./labels.ts";
import type { Labels, Machine } from "./machine.ts";

/** Before 2015 nobody rented a cloud server here; after 2100 nobody will read this. Outside is not a time (S164, S165). */
const EARLIEST_SECONDS = Date.UTC(2015, 0, 1) / 1000;
const LATEST_SECONDS = Date.UTC(2100, 0, 1) / 1000;

const isPlausible = (seconds: number): boolean => seconds >= EARLIEST_SECONDS && seconds < LATEST_SECONDS;

/**
 * Reads a label of unix seconds as milliseconds. Null for anything that is not plain digits, and for the implausible:
 * `0`, milliseconds, twenty digits (S163-S166). A doubtful stamp must never make a machine look old.
 */
export function labelTime(labels: Labels, key: string): number | null {
  const text = Object.hasOwn(labels, key) ? labels[key] : undefined;
  if (text === undefined || !/^\d{1,12}$/.test(text)) return null;
  return isPlausible(Number(text)) ? Number(text) * 1000 : null;
}

/** Clocks differ by moments; a machine that is to be created in more than an hour has a wrong stamp. */
const MOST_AHEAD_MS = 3_600_000;

/**
 * When a machine was created, unix milliseconds: the provider's own stamp, else the label (S160, S161).
 * Null = unknown, which is not old (S168); so is a stamp that no driver should have let through, and one more than an hour after `now`.
 */
export function creationTime(
  machine: Pick<Machine, "createdAt" | "labels">,
  now: number,
  createdLabel: string = LABEL.created,
): number | null {
  const stamp = creationStamp(machine, createdLabel);
  return stamp !== null && stamp - now <= MOST_AHEAD_MS ? stamp : null;
}

/** What a machine's stamps say of when it was created, believable or not: to put machines in an order. */
export const creationStamp = (
  { createdAt, labels }: Pick<Machine, "createdAt" | "labels">,
  createdLabel: string = LABEL.created,
): number | null => (createdAt !== null && isPlausible(createdAt / 1000) ? createdAt : labelTime(labels, createdLabel));

/** Reads a provider's time stamp, any offset; null when missing or implausible, never now and never 1970 (S62). */
export function parseTimestamp(text: unknown): number | null {
  if (typeof text !== "string" || !/^\d{4}-\d{2}-\d{2}T/.test(text)) return null;
  const time = Date.parse(text);
  return isPlausible(time / 1000) ? time : null;
}
