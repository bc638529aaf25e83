/**
 * Answers that look right and are not: a machine as it was a minute ago, a list that says it is whole and lacks some or all, a change that
 * is confirmed and not done, and labels that nobody can read.
 */
import * as z from "zod";
import type { Simulator } from "../../simulator/simulator.ts";
import type { ProviderFault } from "../history.ts";
import { noteWide, strike, type Books } from "../judge/books.ts";
import { callOf } from "./calls.ts";
import type { Clock } from "./provider.ts";
import { openPast } from "./past.ts";
import { MINUTE } from "./settings.ts";
import { confirm } from "./confirm.ts";

/** How much of a list is shown. */
const SHORT = { list_short: 0.5, list_bare: 0 } as const;
export const LIES = [...Object.keys(SHORT), "stale", "not_done"] as const;
type Lie = keyof typeof SHORT | "stale" | "not_done";

/** Ids that the simulator never comes to. */
const FIRST_NOWHERE = 900_000_000;

/** What stands in the place of labels. */
const GARBLED = { none: null, numbers: { "mayfly-managed": 1 }, words: "mayfly-managed" } as const;
export type Garbling = keyof typeof GARBLED;

interface Order extends Pick<ProviderFault, "on" | "skip" | "times"> {
  readonly effect: Lie;
  seen: number;
}

const page = z.looseObject({ servers: z.array(z.looseObject({ id: z.number() })), meta: z.looseObject({}) });
const one = z.looseObject({ server: z.looseObject({ id: z.number() }) });

export const isLie = (effect: ProviderFault["effect"]): effect is Lie =>
  effect in SHORT || effect === "stale" || effect === "not_done";

export function openLies(simulator: Simulator, clock: Clock, books: Books) {
  let orders: Order[] = [];
  let nowhere = FIRST_NOWHERE;
  const garbled = new Map<number, { readonly until: number; readonly how: Garbling }>();
  /** Servers of which it was said that there is none. */
  const denied = new Set<number>();
  const past = openPast(simulator, clock);

  /** Counts a call against all orders of its kind; the first that strikes it has it. */
  function met(on: string): Lie | null {
    let struck: Lie | null = null;
    for (const order of orders) {
      if (order.on !== on) continue;
      order.seen += 1;
      if (order.seen > order.skip && order.seen <= order.skip + order.times) struck ??= order.effect;
    }
    return struck;
  }

  function told(what: string, id: number | null, request: Request): void {
    strike(books, what, clock.now + clock.ahead);
    if (id === null) noteWide(books, what, request);
    else books.hit.add(id);
  }

  /** A whole list, shown as less of it; null where it cannot be read. */
  async function shortened(request: Request, lie: keyof typeof SHORT): Promise<Response | null> {
    const url = new URL(request.url);
    const wanted = Number(url.searchParams.get("page") ?? 1);
    const perPage = Number(url.searchParams.get("per_page") ?? 25);
    const servers: unknown[] = [];
    let headers = new Headers();
    for (let number = 1, last = 1; number <= last; number++) {
      url.searchParams.set("page", String(number));
      const answer = await simulator.fetch(new Request(url, request));
      if (!answer.ok) return null;
      headers = answer.headers;
      const { servers: shown } = page.parse(await answer.json());
      servers.push(...shown);
      if (shown.length === perPage) last += 1;
    }
    const kept = servers.slice(0, Math.floor(servers.length * SHORT[lie]));
    if (kept.length < servers.length) told(lie, null, request);
    const last_page = Math.max(1, Math.ceil(kept.length / perPage));
    const pagination = {
      page: wanted,
      per_page: perPage,
      previous_page: wanted > 1 ? wanted - 1 : null,
      next_page: wanted < last_page ? wanted + 1 : null,
      last_page,
      total_entries: kept.length,
    };
    const own = kept.slice((wanted - 1) * perPage, wanted * perPage);
    return Response.json({ servers: own, meta: { pagination } }, { headers });
  }

  async function answerTo(request: Request): Promise<Response> {
    past.note();
    const on = callOf(request);
    const lie = on === null ? null : met(on);
    const [, id] = /\/servers\/(\d+)/.exec(request.url) ?? [];
    const about = id === undefined ? null : Number(id);
    if (lie === "list_short" || lie === "list_bare")
      return (await shortened(request, lie)) ?? (await simulator.fetch(request));
    if (lie === "not_done" && on !== null) {
      const answer = await confirm(request, on, simulator, { nowhere: ++nowhere, now: clock.now + clock.skew });
      if (answer !== null) {
        told(lie, about, request);
        // Its row is missed until its end, and many of them are more than can be believed.
        if (on === "create") books.doubts.add("what was made is not there");
        return answer;
      }
    }
    const answer = await simulator.fetch(request);
    if (lie !== "stale" || about === null) return answer;
    const was = past.of(about);
    if (was === undefined) return answer;
    told(lie, about, request);
    if (was === null) denied.add(about);
    return was === null ? notFound() : Response.json({ server: was }, { headers: answer.headers });
  }

  /** Labels as they are shown while nobody can read them. */
  function garble<Server extends { readonly id: number }>(server: Server): Server {
    const { until, how } = garbled.get(server.id) ?? { until: 0, how: "none" };
    if (until <= clock.now) return server;
    books.hit.add(server.id);
    strike(books, "garbled", clock.now + clock.ahead, 0);
    return { ...server, labels: GARBLED[how] };
  }

  return {
    order: ({ on, skip, times }: ProviderFault, effect: Lie): void => {
      orders.push({ on, effect, skip, times, seen: 0 });
      if (effect === "stale") past.begin();
    },
    denied: (id: number): boolean => denied.has(id),
    /** For so long the labels of that machine cannot be read. */
    garble(id: number, minutes: number, how: Garbling): void {
      garbled.set(id, { until: clock.now + minutes * MINUTE, how });
      strike(books, "garbled", clock.now);
    },
    /** A person has changed this one: of that nothing older is told. */
    handled: (id: number): void => past.handled(id),
    heal(): void {
      orders = [];
      garbled.clear();
    },
    /** What an installation is answered. */
    async fetch(request: Request): Promise<Response> {
      const answer = await answerTo(request);
      if (garbled.size === 0 || !answer.ok || !new URL(request.url).pathname.startsWith("/v1/servers")) return answer;
      const body: unknown = await answer.json();
      const [many, single] = [page.safeParse(body), one.safeParse(body)];
      const shown = many.success
        ? { ...many.data, servers: many.data.servers.map(garble) }
        : single.success
          ? { ...single.data, server: garble(single.data.server) }
          : body;
      return Response.json(shown, { status: answer.status, headers: answer.headers });
    },
  };
}

const notFound = (): Response =>
  Response.json({ error: { code: "not_found", message: "server not found", details: null } }, { status: 404 });
