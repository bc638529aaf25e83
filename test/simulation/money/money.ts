/**
 * I6: which creates and renewals are let through, and which are refused, held against what the simulator bills and the ends that were
 * promised. Nothing of it is read from mayfly's rows, nor from its answers save whether a call has succeeded.
 *
 * What is let through may not be beyond a limit by the least that must be known; what is refused may not, while no fault is about, be
 * within every limit by the most that may be reckoned with. What lies between the least and the truth is tolerated, and counted.
 */
import * as z from "zod";
import { ConnectionDropped } from "../../simulator/simulator.ts";
import { isAsked, keyOf, movedBy, readCreate, refusedBy, wantedBy } from "./asked-for.ts";
import type { Books } from "../judge/books.ts";
import type { Leases } from "../judge/leases.ts";
import type { Rules } from "../kinds/kind.ts";
import { billedOf, chargesOf } from "./charges-by-hand.ts";
import type { Act } from "../history.ts";
import type { Answer } from "../world/installation.ts";
import { openJudgement } from "./judgement.ts";
import { limitsOfOwner } from "../world/limits.ts";
import type { Clock, Provider } from "../world/provider.ts";
import { openRegister, type Known } from "./register.ts";
import { LAUNCH_DEADLINE, RECOVERY } from "../world/settings.ts";
import { ordersFor, SPECS } from "../world/specs.ts";
import { NONE, type Market, type Pending, type Undecided } from "./sums.ts";
import { labelEnd } from "../world/truth.ts";

const moved = z.object({ machine: z.object({ id: z.string(), expires_at: z.iso.datetime() }) });
const limitMet = z.object({ code: z.enum(["limit_money", "limit_count"]), rule: z.string() });

/** What is no fault, though it is counted among what happens. */
const NO_FAULTS = new Set(["prices", "catalogue"]);

export type Money = ReturnType<typeof openMoney>;

const toldByLabel = ({ server }: Known): number => (server === null ? 0 : labelEnd(server));

export function openMoney(
  clock: Clock,
  provider: Provider,
  books: Books,
  installation: string,
  leases: Leases,
  rules: Rules,
) {
  const { simulator } = provider;
  const register = openRegister(provider, installation);
  const market: Market = { percent: 100, lowest: 100, highest: 100, hasOtherClocks: false };
  const pending = new Map<string, Pending>();
  const machines = register.all;
  /** By whether it is a create or a move, and (owner, name). */
  const undecided = new Map<string, Undecided>();
  /** Since when good sweeps could look for what these were to make. */
  const lookedFor = new Map<string, number>();
  const decide = (kind: string): void => {
    undecided.delete(kind);
    lookedFor.delete(kind);
  };
  const judgement = openJudgement({
    books,
    leases,
    rules,
    clock,
    market,
    machines,
    pending: () => [...pending.values()],
    undecided: () => [...undecided.values()],
  });
  const { sums } = judgement;
  /** Calls that were begun, and those that are over. */
  const calls = { begun: 0, over: 0 };

  function dropPending(isOver: (one: Pending, name: string) => boolean): void {
    for (const [name, one] of pending) if (isOver(one, name)) pending.delete(name);
  }

  function look(): void {
    const names = new Set(register.look(market.percent).map(({ name }) => name));
    dropPending(({ askedAt }, name) => names.has(name) || clock.now >= askedAt + LAUNCH_DEADLINE);
  }

  const isClear = (rule: string): boolean => {
    // What is sold can be asked for, save under a fault.
    if (rule.includes("unknown_price")) return [...books.strikes.keys()].every((what) => NO_FAULTS.has(what));
    // From another D1 it may honestly reckon with machines that are no more, and with longer leases; so may it with what it was told is made.
    return !books.strikes.has("d1_changed") && !books.strikes.has("not_done");
  };

  return {
    machines,
    market,
    /** Whether a machine of ours is billed for as it is counted here: else nothing of this judges anything. */
    checkBill(this: void): void {
      look();
      const bill = new Map(simulator.bill().servers.map((one) => [one.id, one]));
      for (const one of machines()) {
        const billed = bill.get(one.id);
        const mine = chargesOf(one.order, one.percent, one.bornAt, one.deletedAt ?? simulator.now());
        const isEqual = billed && JSON.stringify([...billedOf(billed)]) === JSON.stringify([...mine]);
        if (!isEqual) books.broken.push(`the judge of I6 does not count as server ${one.id} is billed`);
      }
    },

    /** The same provider, each of whose calls is looked at. */
    watching: (): Provider => ({
      ...provider,
      async call(request, from, reads) {
        if (from !== installation) return provider.call(request, from, reads);
        const create = await readCreate(request, simulator, installation, { now: clock.now, percent: market.percent });
        if (create !== null) {
          // It is the same one, tried again.
          pending.delete(create.name);
          look();
          const since = undecided.get(`create ${create.key}`)?.since ?? clock.now;
          judgement.letThrough(wantedBy(create, sums), { now: clock.now, since });
        }
        // What has landed since and is deleted at once would never be seen to have come.
        if (request.method === "DELETE") look();
        const hidden = books.strikes.get("hidden_20m");
        try {
          return await provider.call(request, from, reads);
        } catch (error) {
          if (create !== null && error instanceof ConnectionDropped) pending.set(create.name, create);
          throw error;
        } finally {
          if (request.method !== "GET") look();
          if (books.strikes.get("hidden_20m") !== hidden) register.unseen((uid) => leases.of(uid)?.isTold ?? false);
        }
      },
    }),

    /** A caller asks for something; what it answers judges how that was answered, if it was. */
    asked(act: Act): (answer: Answer | undefined) => void {
      if (!isAsked(act)) return () => {};
      look();
      const key = keyOf(act);
      const kind = act.do === "create" ? `create ${key}` : `move ${key}`;
      const before = undecided.get(kind);
      const { since = clock.now, orders = [] } = before ?? {};
      undecided.set(kind, {
        key,
        account: limitsOfOwner(act.owner).account,
        since,
        orders: act.do === "create" ? [...orders, ...ordersFor(SPECS[act.spec])] : [],
      });
      if (act.do === "destroy") dropPending((one) => one.key === key);
      const there = machines().filter((one) => one.key === key && one.server !== null);
      // A later end that somebody wrote on the label may have been learnt: a renewal up to there asks for nothing more.
      const ends = new Map(there.map((one) => [one.uid, Math.max(sums.endOf(one, NONE), toldByLabel(one))]));
      const isAlone = calls.begun === calls.over;
      const mine = ++calls.begun;
      return (answer) => {
        calls.over += 1;
        if (answer === undefined || answer.status >= 500 || answer.status === 409) return;
        // What is told of as under way, though the provider does not have it yet, may come and is rightly counted.
        look();
        const isThere = machines().some((one) => one.key === key && one.server !== null);
        const isPending = [...pending.values()].some((one) => one.key === key);
        const mayCome = act.do === "create" && (isPending || (answer.status < 300 && !isThere));
        // A refusal decides over its own call, and not over one before it that was cut off.
        if (answer.status >= 400 && before !== undefined) undecided.set(kind, before);
        else if (!mayCome) decide(kind);
        const body: unknown = answer.text === "" ? null : JSON.parse(answer.text);
        const limit = limitMet.safeParse(body);
        if (limit.success) {
          judgement.count(`${act.do}s refused: ${limit.data.code}`);
          const isJudged = isAlone && calls.begun === mine && isClear(limit.data.rule);
          const refused = isJudged ? refusedBy(act, there, market, clock.now) : null;
          if (refused !== null) judgement.refused(refused, clock.now);
          return;
        }
        const { data } = moved.safeParse(body);
        const one = there.find(({ uid }) => data?.machine.id === `mch_${uid}`);
        if (act.do === "create" || answer.status >= 300 || data === undefined || one === undefined) return;
        const to = Date.parse(data.machine.expires_at);
        const wanted = movedBy(act, one, { from: ends.get(one.uid) ?? to, to }, sums, clock);
        if (wanted !== null) judgement.letThrough(wanted, { now: clock.now, since });
      };
    },

    afterTick(isGood: boolean): void {
      register.afterTick(isGood, clock.now);
      if (!isGood) return;
      // What was left of an older call ends with its row: sweeps look twice, once it can have come no more.
      for (const [kind, { since }] of undecided) {
        if (clock.now < since + LAUNCH_DEADLINE) continue;
        const looked = lookedFor.get(kind) ?? clock.now;
        lookedFor.set(kind, looked);
        if (clock.now >= looked + RECOVERY) decide(kind);
      }
    },

    copied: (): void => register.copied(),
    lost(isRestored: boolean): void {
      register.lost(isRestored);
      pending.clear();
    },
    /** New orders cost so many percent of the catalogue's prices. */
    price(percent: number): void {
      look();
      simulator.setPrices(percent);
      Object.assign(market, {
        percent,
        lowest: Math.min(market.lowest, percent),
        highest: Math.max(market.highest, percent),
      });
    },
    otherClocks: (): void => void (market.hasOtherClocks = true),
  };
}
