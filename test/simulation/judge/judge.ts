/**
 * What the judge of a history is told: what is asked and when, and what people and fate do beside. It works out by itself what may and must
 * become of each machine from then on; answers are held against that.
 */
import * as z from "zod";
import type { ServerState } from "../../simulator/simulator.ts";
import { strike, type Books } from "./books.ts";
import { after as since, exactly, GRAIN_MS, holds, leastOf, mayAlsoEnd, mostOf, type Life } from "./life.ts";
import { keyOf, MADE, type Leases, type Whose } from "./leases.ts";
import type { Answer } from "../world/installation.ts";
import type { Provider } from "../world/provider.ts";
import { isOf, keyOf as keyOfServer, labelEnd, uidOf } from "../world/truth.ts";

/** What somebody asks about machines; lengths in milliseconds. */
export type Ask =
  /** `name` is null where mayfly makes it. `keep`: how long it is kept where its job failed, null = not. */
  | {
      readonly do: "create";
      readonly owner: string;
      readonly name: string | null;
      readonly ttl: number;
      readonly keep: number | null;
      /** The longest lease that the caller's policy allows; null = what all may have. */
      readonly longest: number | null;
    }
  | { readonly do: "renew"; readonly owner: string; readonly name: string; readonly ttl: number }
  | { readonly do: "destroy"; readonly owner: string; readonly name: string; readonly isFailed: boolean }
  /** Bulk, teardown, reap: all of ours for which this is so. */
  | { readonly do: "destroy_all"; readonly which: (server: ServerState) => boolean }
  /** Whatever shows machines and changes none. */
  | { readonly do: "read" };

const machine = z.object({
  id: z.templateLiteral(["mch_", z.string()]),
  owner: z.string(),
  name: z.string(),
  status: z.string(),
  expires_at: z.iso.datetime(),
  max_until: z.iso.datetime(),
});
type Told = z.infer<typeof machine>;
const answered = z.union([
  z.object({ machine, kept_until: z.iso.datetime().optional() }),
  z.object({ machines: z.array(machine) }),
  z.unknown().transform(() => ({ machines: [] })),
]);

/** Of those that are being ended the end is when that was decided. */
const LIVING = new Set(["creating", "running", "stopped", "unknown"]);
const uidOfId = (id: string): string => id.slice("mch_".length);

export type Judge = ReturnType<typeof openJudge>;

interface World {
  readonly books: Books;
  readonly clock: { readonly now: number };
  readonly leases: Leases;
  readonly provider: Pick<Provider, "simulator" | "isOdd">;
  readonly installation: string;
}

export function openJudge({ books, clock, leases, provider, installation }: World) {
  const calls = { begun: 0, over: 0 };
  let sweptAt = clock.now;
  const broken = (what: string): void => void books.broken.push(what);
  const now = () => clock.now;
  const ours = (): ServerState[] => provider.simulator.state().servers.filter((one) => isOf(one, installation));
  const theirs = (whose: Whose): ServerState[] => ours().filter((one) => keyOfServer(one) === keyOf(whose));
  /** Whether mayfly must know of a machine: it was shown since it was made, and has had its row all that time. */
  const isPlain = (server: ServerState): boolean =>
    leases.isKnown(uidOf(server)) && !provider.isOdd(server.id) && !books.unseenAt.has(server.id);

  function readTold({ status, text }: Answer): { told: readonly Told[]; keptUntil: number | null } {
    if (status >= 300 || text === "") return { told: [], keptUntil: null };
    const body = answered.parse(JSON.parse(text));
    if ("machines" in body) return { told: body.machines, keptUntil: null };
    const { kept_until } = body;
    return { told: [body.machine], keptUntil: kept_until === undefined ? null : Date.parse(kept_until) };
  }

  function hold(told: readonly Told[], isAlone: boolean, what: string): void {
    for (const { id, owner, name, status, expires_at, max_until } of told) {
      if (!LIVING.has(status)) continue;
      const times = { end: Date.parse(expires_at), max: Date.parse(max_until) };
      leases.told(uidOfId(id), { owner, name }, times, isAlone, what);
    }
  }

  /** Answers what is to be done once it is known how the call ended. */
  function create(ask: Extract<Ask, { do: "create" }>) {
    const { owner, name } = ask;
    const call = leases.create({ owner, name: name ?? MADE }, { ...ask, isEvent: false });
    if (name === null) return { over: () => void (call.to = clock.now), after: () => {} };
    return {
      over: () => void (call.to = clock.now),
      after({ status }: Answer, [one]: readonly Told[], _until: number | null, isAlone: boolean): void {
        if (one === undefined || !LIVING.has(one.status)) return;
        const uid = uidOfId(one.id);
        const life = leases.of(uid);
        // Its name has begun anew: from now on it has a right to live again.
        if (life !== undefined && isAlone) life.word = null;
        for (const server of theirs({ owner, name }))
          if (leases.of(uidOf(server)) !== life && isPlain(server) && (leases.of(uidOf(server))?.word ?? null) === null)
            broken(
              `I3: a create of ${keyOf({ owner, name })} was answered ${status} with ${uid}, and server ${server.id} is ${uidOf(server)}`,
            );
      },
    };
  }

  function renew({ owner, name, ttl }: Extract<Ask, { do: "renew" }>) {
    const whose = { owner, name };
    const call = { from: clock.now, to: null as number | null };
    const end = since(call, ttl, now);
    // It goes no further than that, and then ends there.
    const latest = leases.byKey(keyOf(whose)).flatMap(({ maxes }) => maxes.map((one) => ({ ...one })));
    const ends = [end, ...latest.filter(({ span }) => span().from < call.from + ttl)];
    for (const one of ends) leases.move(whose, one);
    for (const life of leases.byKey(keyOf(whose))) forgetHand(life);
    return {
      over: () => void (call.to = clock.now),
      after({ status }: Answer, told: readonly Told[]): void {
        const [one] = told;
        if (one !== undefined && one.expires_at !== one.max_until && Date.parse(one.expires_at) < call.from + ttl)
          broken(`I4: a renewal of ${keyOf(whose)} by ${ttl} ms was answered with an earlier end`);
        // Of a machine that is found to be another the row was renewed before.
        if (status >= 400 && status < 500 && status !== 409) for (const gone of ends) leases.drop(whose, gone);
      },
    };
  }

  function destroy({ owner, name, isFailed }: Extract<Ask, { do: "destroy" }>) {
    const whose = { owner, name };
    const those = leases.byKey(keyOf(whose));
    const before = new Map(those.map((life) => [life, life.word]));
    const call = leases.word(whose);
    const kept = isFailed ? leases.keeps(whose).map((keep) => since(call, keep, now)) : [];
    for (const end of kept) leases.move(whose, end);
    for (const life of those) forgetHand(life);
    return {
      over: () => void (call.to = clock.now),
      after({ status }: Answer, [one]: readonly Told[], until: number | null): void {
        if (until !== null && one !== undefined) {
          // Kept, as it was asked for, is no word against its life, but an end of its own.
          for (const [life, word] of before) life.word = word;
          leases.unsaid(whose, call);
          const most = Date.parse(one.max_until);
          if (!kept.some(({ span }) => holds(span(), until) || (until === most && span().to > most)))
            broken(`I4: ${keyOf(whose)} is kept until ${new Date(until).toISOString()}, which nobody asked for`);
          return;
        }
        if (status >= 300) return;
        for (const end of kept) leases.drop(whose, end);
        // Of a machine without a row nobody knows, and by its name there is none then.
        for (const life of those) life.word = { at: clock.now, isSure: status !== 204 || life.doubtedAt === null };
        for (const server of theirs(whose))
          if (status === 204 && isPlain(server))
            broken(`I1: a destroy of ${keyOf(whose)} was answered that there is none, and server ${server.id} is it`);
      },
    };
  }

  function destroyAll({ which }: Extract<Ask, { do: "destroy_all" }>) {
    const those = ours()
      .filter(which)
      .flatMap((server) => leases.of(uidOf(server)) ?? []);
    for (const life of those) life.word ??= { at: clock.now, isSure: false };
    return {
      over: () => {},
      after({ status }: Answer): void {
        // Of a machine without a row nobody knows.
        if (status < 300) for (const life of those) life.word = { at: clock.now, isSure: life.doubtedAt === null };
      },
    };
  }

  function begin(ask: Ask) {
    switch (ask.do) {
      case "create":
        return create(ask);
      case "renew":
        return renew(ask);
      case "destroy":
        return destroy(ask);
      case "destroy_all":
        return destroyAll(ask);
      default:
        return { over: () => {}, after: () => {} };
    }
  }

  /** What a person wrote may be written over. */
  function forgetHand(life: Life): void {
    if (life.byHand !== null) life.byHand = { ...life.byHand, isSure: false };
  }

  return {
    leases,
    /** Something is asked; what it answers is told how that was answered, undefined where the Worker died over it. */
    asks(ask: Ask): (answer: Answer | undefined) => void {
      const asked = begin(ask);
      const isFirst = calls.begun === calls.over;
      const mine = ++calls.begun;
      return (answer) => {
        asked.over();
        calls.over += 1;
        if (answer === undefined) return;
        const { told, keptUntil } = readTold(answer);
        const isAlone = isFirst && calls.begun === mine;
        hold(told, isAlone, `an answer to ${ask.do}`);
        asked.after(answer, told, keptUntil, isAlone);
      };
    },
    /** Something that looks at machines is under way beside: what is answered meanwhile may be old. */
    beside(): () => void {
      calls.begun += 1;
      return () => void (calls.over += 1);
    },
    /** A sweep that began then may have gone well, for all that mayfly knows; unix milliseconds. */
    swept: (at: number): void => void (sweptAt = Math.max(sweptAt, at)),
    sweptAt: (): number => sweptAt,
    /** D1 is another: new, or an older copy of itself. */
    databaseChanged(): void {
      const there = new Map(ours().map((server) => [leases.of(uidOf(server)), server]));
      for (const life of leases.all()) {
        const server = there.get(life);
        leases.doubt(life, server === undefined ? leastOf(life) : labelEnd(server));
      }
      strike(books, "d1_changed", clock.now);
      sweptAt = Math.max(sweptAt, clock.now);
    },
    /** A person has changed this machine of ours, from `before` to what it is now. */
    changedByHand(before: ServerState): void {
      const life = leases.of(uidOf(before));
      const after = ours().find(({ id }) => id === before.id);
      if (life === undefined || after === undefined) return;
      const [was, is] = [labelEnd(before), labelEnd(after)];
      if (was === is) return;
      // Its row learns a later one, and outvotes a sooner one. Without a row the label is all that is known.
      const isSettled =
        life.doubtedAt === null && life.ends.every(({ span }) => Math.floor(span().to / GRAIN_MS) * GRAIN_MS === was);
      if (life.doubtedAt !== null) mayAlsoEnd(life, exactly(is));
      const isOpen = mostOf(life) > clock.now;
      life.byHand = is > was ? { at: is, isSure: isSettled && isOpen } : null;
    },
    /** A machine of ours was not shown, though it is there: its row may be closed for that, and opened again. */
    unseen(server: ServerState): void {
      books.unseenAt.set(server.id, clock.now);
      const life = leases.of(uidOf(server));
      if (life !== undefined && life.doubtedAt === null) leases.doubt(life, labelEnd(server));
    },
    /** Something is so that has machines looked after later, or health red, though nothing is wrong: from now on, until it is over. */
    excuse: (why: string): void => void books.excuses.add(why),
    /** That is over now. */
    excuseNoMore: (why: string): void => void books.excuses.delete(why),
  };
}
