/** What can happen in a history, as plain records: they shrink best, print as they are, and replay by seed and path alone. */
import fc from "fast-check";
import * as z from "zod";
import { OWNERS, type Owner } from "./world/callers.ts";
import type { CallerAct } from "./acts/caller-acts.ts";
import type { OperatorAct } from "./acts/operator-acts.ts";
import type { EventAct } from "./events.ts";
import type { CallerStep } from "./kinds/caller-steps.ts";
import type { OperatorStep } from "./kinds/operator-steps.ts";
import type { Many } from "./kinds/many.ts";
import type { Span } from "./kinds/span.ts";
import { MISHAPS, type Mishap } from "./world/invocation.ts";
import type { Garbling } from "./world/lies.ts";

export const NAMES = ["a", "b"] as const;
/** As they are asked for, and in milliseconds. */
export const LIVES = {
  "60s": 60_000,
  "5m": 300_000,
  "20m": 1_200_000,
  "1h": 3_600_000,
  "3h": 10_800_000,
  "12h": 43_200_000,
  "3d": 259_200_000,
  "9d": 777_600_000,
} as const;
export type Ttl = keyof typeof LIVES;
/** Of the short ones. */
export const TTLS = ["60s", "5m", "20m", "1h", "3h"] as const;

interface Whose {
  readonly owner: Owner;
  readonly name: string;
}
/** What is asked of one mayfly. */
export type Act =
  | ({ readonly do: "create"; readonly ttl: Ttl; readonly spec: 0 | 1 | 2 } & Whose)
  | ({ readonly do: "renew"; readonly ttl: Ttl } & Whose)
  | ({ readonly do: "destroy"; readonly failed: boolean } & Whose)
  | { readonly do: "list" }
  | { readonly do: "tick" }
  | EventAct
  | OperatorAct
  | CallerAct;

/** What the provider does to some of the next calls of one kind. */
export interface ProviderFault {
  readonly do: "fault";
  readonly on: "create" | "list" | "look" | "relabel" | "destroy" | "make" | "unmake" | "read" | "catalogue";
  readonly effect: (typeof EFFECTS)[number];
  readonly skip: number;
  readonly times: number;
}
/** Those of any call. */
export const FAULTS = [
  "cut_before",
  "cut_after",
  "conflict",
  "resource_unavailable",
  "locked",
  "rate_limited",
  "unauthorized",
  "server_error",
  "unavailable",
  "hidden_1m",
  "hidden_20m",
  "action_error",
] as const;
export const EFFECTS = [
  ...FAULTS,
  "delete_error",
  "page_twice",
  "entry_twice",
  "page_empty",
  "disordered",
  "lands_3m",
  "lands_1h",
  "list_short",
  "list_bare",
  "stale",
  "not_done",
] as const;
/** What else may happen, as it is counted. */
export const ODDITIES = ["scarce", "vanished", "garbled", "odd_tick", "prices", "catalogue"] as const;

export type Step =
  | OperatorStep
  | CallerStep
  | (Exclude<Act, { do: "tick" }> & { readonly mishap: Mishap | null })
  /** A tick, whose calls that are under way at once go on as `order` says. */
  | { readonly do: "tick"; readonly order: number; readonly mishap: Mishap | null }
  /** Minutes that each have their tick. */
  | { readonly do: "minutes"; readonly count: number; readonly order: number }
  /** Two at once, interleaved at their awaits as `order` says. */
  | {
      readonly do: "together";
      readonly first: Act;
      readonly second: Act;
      readonly order: number;
      readonly mishap: Mishap | null;
    }
  /** So many creates by one owner, for as long each: they end together. */
  | { readonly do: "crowd"; readonly owner: Owner; readonly ttl: (typeof TTLS)[number]; readonly count: number }
  | Many
  | Span
  /** Time without ticks. */
  | { readonly do: "pass"; readonly minutes: number }
  /** Ticks in one minute, so many minutes later or earlier than it is. */
  | { readonly do: "odd_ticks"; readonly off: readonly number[] }
  | ProviderFault
  /** So long others use the provider's rate limit up, save a rest. */
  | { readonly do: "scarce"; readonly minutes: number }
  /** So long the provider does not show the machine of that number. */
  | { readonly do: "vanish"; readonly which: number; readonly minutes: number }
  /** So long nobody can read the labels of the machine of that number. */
  | { readonly do: "garble"; readonly which: number; readonly minutes: number; readonly how: Garbling }
  | { readonly do: "lose_d1" | "copy_d1" | "restore_d1" }
  /** The provider's clock, against ours. */
  | { readonly do: "skew"; readonly seconds: number }
  | { readonly do: "hand_made" }
  /** New orders cost so many percent of the catalogue's prices. */
  | { readonly do: "prices"; readonly percent: number }
  /** What the provider sells is not known any more. */
  | { readonly do: "catalogue" }
  /** A person's hand on the machine of that number, among those that are there. */
  | {
      readonly do: "edit";
      readonly which: number;
      readonly what: "unmanaged" | "other_installation" | "bare" | "sooner" | "later";
    }
  | { readonly do: "protect" | "unprotect"; readonly which: number }
  | { readonly do: "sibling"; readonly act: Act };

export const oneOf = <T>(list: readonly T[]) => fc.constantFrom(...list);
export const whose = { owner: oneOf(OWNERS), name: oneOf(NAMES) };
const create = { do: fc.constant("create" as const), ...whose, ttl: oneOf(TTLS), spec: oneOf([0, 1, 2] as const) };
/** Mostly later than what was asked for first. */
const renew = { do: fc.constant("renew" as const), ...whose, ttl: oneOf([...TTLS, "1h", "3h", "3h"] as const) };
const destroy = { do: fc.constant("destroy" as const), ...whose, failed: fc.boolean() };
const list = { do: fc.constant("list" as const) };
const tick = { do: fc.constant("tick" as const) };
export const order = fc.nat({ max: 2 ** 24 });
export const mishap = fc.option(
  fc.record({
    what: oneOf(MISHAPS),
    at: fc.nat({ max: 14 }),
    when: oneOf(["before", "after"] as const),
  }),
  { freq: 2, nil: null },
);
const act: fc.Arbitrary<Act> = fc.oneof(
  { arbitrary: fc.record(create), weight: 3 },
  { arbitrary: fc.record(renew), weight: 2 },
  { arbitrary: fc.record(destroy), weight: 2 },
  { arbitrary: fc.record(tick), weight: 3 },
);
export const fault = <On extends ProviderFault["on"], Effect extends ProviderFault["effect"]>(
  on: readonly On[],
  effect: readonly Effect[],
  times: readonly number[] = [1, 1, 2, 5],
) =>
  fc.record({
    do: fc.constant("fault" as const),
    on: oneOf(on),
    effect: oneOf(effect),
    skip: oneOf([0, 0, 1, 2] as const),
    times: oneOf(times),
  });
export const only = <T extends string>(...what: T[]) => fc.record({ do: oneOf(what) });

export const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ ...create, mishap }), weight: 16 },
  { arbitrary: fc.record({ ...renew, mishap }), weight: 14 },
  { arbitrary: fc.record({ ...destroy, mishap }), weight: 4 },
  { arbitrary: fc.record({ ...list, mishap }), weight: 1 },
  { arbitrary: fc.record({ ...tick, order, mishap }), weight: 8 },
  {
    arbitrary: fc.record({ do: fc.constant("minutes" as const), count: fc.integer({ min: 1, max: 6 }), order }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("crowd" as const),
      owner: oneOf(OWNERS),
      ttl: oneOf(TTLS),
      count: fc.integer({ min: 5, max: 8 }),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({ do: fc.constant("pass" as const), minutes: oneOf([1, 3, 10, 30, 90] as const) }),
    weight: 5,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("together" as const),
      first: act,
      second: act,
      order,
      mishap,
    }),
    weight: 4,
  },
  {
    arbitrary: fault(["create", "list", "look", "relabel", "destroy", "make", "unmake"], FAULTS),
    weight: 14,
  },
  { arbitrary: fault(["make", "unmake", "read", "catalogue"], FAULTS), weight: 5 },
  { arbitrary: fault(["list"], ["list_short", "list_bare"]), weight: 2 },
  { arbitrary: fault(["look"], ["stale"]), weight: 5 },
  { arbitrary: fault(["create", "relabel", "destroy", "make", "unmake"], ["not_done"]), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("garble" as const),
      which: fc.nat({ max: 3 }),
      minutes: oneOf([1, 20, 60] as const),
      how: oneOf(["none", "numbers", "words"] as const),
    }),
    weight: 2,
  },
  { arbitrary: fault(["destroy"], ["delete_error"]), weight: 2 },
  { arbitrary: fault(["list"], ["page_twice", "entry_twice", "page_empty", "disordered"]), weight: 2 },
  { arbitrary: fault(["create"], ["lands_3m", "lands_1h"]), weight: 2 },
  {
    arbitrary: fc.record({ do: fc.constant("scarce" as const), minutes: oneOf([5, 20, 60] as const) }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("vanish" as const),
      which: fc.nat({ max: 3 }),
      minutes: oneOf([1, 20, 60, 120, 120] as const),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("odd_ticks" as const),
      off: fc.array(oneOf([-4, -1, 0, 1, 4] as const), { minLength: 1, maxLength: 3 }),
    }),
    weight: 2,
  },
  { arbitrary: only("lose_d1", "copy_d1", "copy_d1", "restore_d1", "hand_made"), weight: 3 },
  {
    arbitrary: fc.record({ do: fc.constant("skew" as const), seconds: oneOf([-180, -30, 45, 180] as const) }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("edit" as const),
      which: fc.nat({ max: 3 }),
      what: oneOf(["unmanaged", "other_installation", "bare", "sooner", "later"] as const),
    }),
    weight: 2,
  },
  { arbitrary: fc.record({ do: oneOf(["protect", "unprotect"] as const), which: fc.nat({ max: 3 }) }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant("sibling" as const), act }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant("prices" as const), percent: oneOf([150, 50, 100]) }), weight: 1 },
  { arbitrary: only("catalogue"), weight: 1 },
);

export interface History {
  /** Of the month in which it begins; most of what is lent ends in the same hours. */
  readonly minutesLeft: number;
  readonly steps: readonly Step[];
  /** What a sweep may spend, where a kind has both. */
  readonly plan?: "free" | "paid";
}

/** Histories of up to forty such steps. */
export const historyOf = (minutesLeft: readonly number[], steps: fc.Arbitrary<Step>): fc.Arbitrary<History> =>
  fc.record({
    minutesLeft: oneOf(minutesLeft),
    steps: fc.array(steps, { minLength: 1, maxLength: 40, size: "max" }),
  });

export const history = historyOf([720, 240, 130, 100, 40, 5], step);

/** A history as `JSON.stringify` has written it; nothing is checked but that it is one. */
export const parseHistory = (text: string): History =>
  z.custom<History>((value) => written.safeParse(value).success, "no history").parse(JSON.parse(text));
const written = z.looseObject({ minutesLeft: z.number(), steps: z.array(z.looseObject({ do: z.string() })) });

/** One step in one line. */
export const tell = (one: Step): string => JSON.stringify(one).replaceAll('"', "");
