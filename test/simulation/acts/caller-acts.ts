/** What callers of all kinds ask for, as plain records. */
import type { LIVES } from "../history.ts";
import { CALLERS, type Caller } from "../world/callers.ts";

type Ttl = keyof typeof LIVES;

/** By one's own name, or by the id of that number among all that anybody was ever told. */
export type Ref =
  | { readonly by: "name"; readonly name: string }
  | { readonly by: "id"; readonly which: number; readonly isOwn: boolean };

export const LISTS = [
  "/v1/machines",
  "/v1/machines?per_page=1&page=1",
  "/v1/machines?per_page=1&page=2",
  "/v1/machines?status=destroyed&per_page=50",
  "/v1/machines?status=running&status=creating",
  "/v1/machines?status=destroyed&since=1h&reason=expired",
  "/v1/machines?label_selector=!none",
  "/v1/firewalls",
  "/v1/networks",
  "/v1/ssh_keys",
  "/v1/events?per_page=50",
  "/v1/usage?by=owner",
  "/v1/usage?by=server_type",
  "/v1/whoami",
] as const;

export const REVOCABLE = ["tok.bob", "tok.eve"] as const satisfies readonly Caller[];

export type CallerAct =
  | {
      readonly do: "order";
      readonly who: Caller;
      /** Null = under one that is made for it. */
      readonly name: string | null;
      readonly spec: 0 | 1 | 2 | 3;
      readonly ttl: Ttl;
      readonly wait: 0 | 5 | 30;
    }
  | { readonly do: "look"; readonly who: Caller | "admin"; readonly ref: Ref; readonly wait: 0 | 30 }
  | { readonly do: "browse"; readonly who: Caller; readonly what: (typeof LISTS)[number] }
  | { readonly do: "extend"; readonly who: Caller | "admin"; readonly ref: Ref; readonly ttl: Ttl }
  | {
      readonly do: "end";
      readonly who: Caller | "admin";
      readonly ref: Ref;
      readonly isFailed: boolean;
      readonly tombstone: "10m" | null;
    }
  /** Asks for what another has by naming it as the owner. */
  | { readonly do: "pretend"; readonly who: Caller; readonly as: Caller }
  | { readonly do: "revoke"; readonly who: (typeof REVOCABLE)[number]; readonly isAll: boolean };

const ACTS: Readonly<Record<CallerAct["do"], true>> = {
  order: true,
  look: true,
  browse: true,
  extend: true,
  end: true,
  pretend: true,
  revoke: true,
};
/** How they are called. */
export const CALLER_ACTS: readonly string[] = Object.keys(ACTS);
/** Whether an act, or a step, is one of these. */
export const isCallerAct = <T extends { readonly do: string }>(act: T): act is Extract<T, { do: CallerAct["do"] }> =>
  act.do in ACTS;

/** Everybody whose calls are to be served. */
export const SERVED: readonly string[] = [...CALLERS, "admin"].map((who) => `served ${who}`);
