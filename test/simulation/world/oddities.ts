/**
 * What a provider does beyond the simulator's faults: lists that cannot be all there is, a create that lands long after nobody waits for
 * it any more, machines that it does not show for a while, and a rate limit that somebody else uses up.
 */
import * as z from "zod";
import { ConnectionDropped, type Simulator } from "../../simulator/simulator.ts";
import { noteWide, strike, type Books } from "../judge/books.ts";
import type { ProviderFault } from "../history.ts";
import type { Clock } from "./provider.ts";
import { HOUR, MINUTE } from "./settings.ts";

type Entries = readonly unknown[];
const firstHalf = (all: Entries): Entries => all.slice(0, Math.ceil(all.length / 2));

/** The two pages as which a list is shown. By some of them something is hidden, and by what they show that can be noticed. */
const DOUBTFUL = {
  page_twice: (all: Entries) => [firstHalf(all), firstHalf(all)],
  entry_twice: (all: Entries) => [all.slice(0, -1), all.slice(0, 1)],
  page_empty: (all: Entries) => [[], all],
  disordered: (all: Entries) => [all.slice(-1), all.slice(0, 1)],
} as const;

/** How long after its call a create lands. */
const LATE = { lands_3m: 3 * MINUTE, lands_1h: HOUR } as const;

type Effect = keyof typeof DOUBTFUL | keyof typeof LATE;
interface Order extends Pick<ProviderFault, "skip" | "times"> {
  readonly effect: Effect;
}

/** A create that is still to land. */
interface Late {
  readonly name: string;
  readonly at: number;
  readonly askedAt: number;
  readonly effect: Effect;
  readonly send: () => Promise<Response>;
}

/** Less than the tenth that is for deletes. */
const SCARCE = "50";

const list = z.looseObject({
  servers: z.array(z.unknown()),
  meta: z.looseObject({ pagination: z.looseObject({}) }),
});

const created = z.looseObject({ name: z.string() });

/** Whether this is what the simulator has no fault for. */
export const isOddity = (effect: ProviderFault["effect"]): effect is Effect => effect in DOUBTFUL || effect in LATE;

export type Oddities = ReturnType<typeof openOddities>;

export function openOddities(simulator: Simulator, clock: Clock, books: Books) {
  let orders: (Order & { seen: number })[] = [];
  let late: Late[] = [];
  /** Until when a server is not shown, by its id. */
  const hidden = new Map<number, number>();
  /** Servers that were there, or not there, at another time than they seemed to be. */
  const odd = new Set<number>();
  /** Lists that are being shown in two pages, by what was asked for. */
  const split = new Map<string, keyof typeof DOUBTFUL>();
  let scarceUntil = 0;

  /** Counts a call against all orders of its kind; the first that strikes it has it. */
  function met<Kind extends Effect>(kinds: Record<Kind, unknown>): Kind | null {
    let struck: Kind | null = null;
    for (const order of orders) {
      const { effect, skip, times } = order;
      if (!isOneOf(kinds, effect)) continue;
      order.seen += 1;
      if (order.seen > skip && order.seen <= skip + times) struck ??= effect;
    }
    return struck;
  }

  /** Lets creates land whose time has come, or all; at their time, though nobody looked then. */
  async function land(until: number): Promise<void> {
    const due = late.filter(({ at }) => at <= until);
    late = late.filter(({ at }) => at > until);
    const { now } = clock;
    for (const { at, askedAt, effect, send } of due) {
      const before = new Set(simulator.state().servers.map(({ id }) => id));
      clock.now = Math.min(at, now);
      try {
        await send();
      } catch (error) {
        // Another fault has met it: nobody waits for its answer any more.
        if (!(error instanceof ConnectionDropped)) throw error;
      } finally {
        clock.now = now;
      }
      // As old as its create, which is what its launch is judged by.
      for (const { id } of simulator.state().servers)
        if (!before.has(id)) {
          books.born.set(id, askedAt);
          odd.add(id);
        }
      strike(books, effect, now + clock.ahead);
    }
  }

  /** A create, held back if one of its kind is to be; names are unique, so that only one whose name is free can land later. */
  async function askCreate(request: Request): Promise<Response> {
    const { url, method, headers } = request;
    const body = await request.text();
    const { name } = created.parse(JSON.parse(body));
    const again = () => simulator.fetch(new Request(url, { method, headers, body }));
    const effect = met(LATE);
    if (effect === null || simulator.state().servers.some((one) => one.name === name)) {
      const answer = await again();
      if (answer.ok) late = late.filter((one) => one.name !== name);
      return answer;
    }
    late.push({
      name,
      at: clock.now + LATE[effect],
      askedAt: clock.now,
      effect,
      send: again,
    });
    noteWide(books, effect, request);
    strike(books, effect, clock.now + clock.ahead);
    throw new ConnectionDropped();
  }

  /** A machine that is not shown is what goes wrong here, until it is; all others are judged as ever. */
  function isHidden(id: number): boolean {
    const until = hidden.get(id) ?? 0;
    if (until > clock.now) return true;
    hidden.delete(id);
    return false;
  }

  /** The list as it is shown; the one that was asked for by its first page may be another each time. */
  async function askList(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const page = Number(url.searchParams.get("page") ?? 1);
    url.searchParams.delete("page");
    const asked = url.href;
    if (page === 1) {
      const doubt = met(DOUBTFUL);
      if (doubt === null) split.delete(asked);
      else split.set(asked, doubt);
    }
    const doubt = split.get(asked);
    const answer = await simulator.fetch(doubt === undefined ? request : new Request(asked, request));
    if (!answer.ok || (doubt === undefined && hidden.size === 0)) return answer;
    const { servers, meta } = list.parse(await answer.json());
    const shown = servers.filter((one) => !isHidden(idOf.parse(one).id));
    if (doubt === undefined) return Response.json({ servers: shown, meta }, { headers: answer.headers });
    noteWide(books, doubt, request);
    strike(books, doubt, clock.now + clock.ahead);
    const pages = DOUBTFUL[doubt](shown);
    const next_page = page < pages.length ? page + 1 : null;
    const pagination = { ...meta.pagination, page, next_page, last_page: pages.length };
    return Response.json(
      { servers: pages[page - 1] ?? [], meta: { ...meta, pagination } },
      { headers: answer.headers },
    );
  }

  function ask(request: Request, id: number | null): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/servers" && request.method === "GET") return askList(request);
    if (pathname === "/v1/servers") return askCreate(request);
    if (id === null || !isHidden(id)) return simulator.fetch(request);
    const error = { code: "not_found", message: "server not found", details: null };
    return Promise.resolve(Response.json({ error }, { status: 404 }));
  }

  return {
    odd: (id: number): boolean => odd.has(id),
    isHiding: (id: number): boolean => isHidden(id),
    order: ({ effect, skip, times }: Order): void => void orders.push({ effect, skip, times, seen: 0 }),
    hide(id: number, minutes: number): void {
      hidden.set(id, clock.now + minutes * MINUTE);
      odd.add(id);
      strike(books, "vanished", clock.now + clock.ahead);
    },
    beScarce(minutes: number): void {
      scarceUntil = clock.now + minutes * MINUTE;
      strike(books, "scarce", clock.now);
    },
    /** Nothing of it any more, and what was to come is there. */
    async heal(): Promise<void> {
      orders = [];
      hidden.clear();
      split.clear();
      scarceUntil = 0;
      await land(Infinity);
    },
    /** What an installation is answered; `id` is the server that it asks about. */
    async ask(request: Request, id: number | null): Promise<Response> {
      await land(clock.now);
      for (const one of hidden.keys())
        if (isHidden(one)) {
          books.hit.add(one);
          strike(books, "vanished", clock.now + clock.ahead, 0);
        }
      const answer = await ask(request, id);
      if (clock.now >= scarceUntil) return answer;
      const headers = new Headers(answer.headers);
      headers.set("RateLimit-Remaining", SCARCE);
      return new Response(answer.body, { status: answer.status, headers });
    },
  };
}

const idOf = z.looseObject({ id: z.number() });

const isOneOf = <Kind extends string>(kinds: Record<Kind, unknown>, word: string): word is Kind => word in kinds;
