/** Plays a history, checks the promises at each step, lets it run quiet, and checks what is left. */
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { perform, sweepOnce, type Scene } from "./acts.ts";
import { strike, type Books } from "./judge/books.ts";
import { openCallers, type Callers } from "./world/callers.ts";
import { become, copyOf, newDatabase, type Copy } from "./world/copies.ts";
import type { Database } from "./world/database.ts";
import { sql } from "../../src/store/db.ts";
import type { Act, History, Step } from "./history.ts";
import { openInstallation } from "./world/installation.ts";
import { QUIETLY, type Circumstances, type Mishap } from "./world/invocation.ts";
import { performCaller } from "./acts/caller.ts";
import { isCallerAct } from "./acts/caller-acts.ts";
import { judgeBeside } from "./judge/beside.ts";
import { createHealth } from "./judge/health.ts";
import { judgeIsolation } from "./judge/isolation.ts";
import { openJudge, type Judge } from "./judge/judge.ts";
import { createLate, type Quality } from "./judge/late.ts";
import { openLeases, type Leases } from "./judge/leases.ts";
import { createOwned } from "./judge/owned.ts";
import { liveRows } from "./judge/rows.ts";
import { openSecrets } from "./judge/secrets.ts";
import { openWatch } from "./judge/watch.ts";
import { openMoney } from "./money/money.ts";
import { takeOperator } from "./take-operator.ts";
import { openHands } from "./world/hands.ts";
import { openOperations } from "./world/operations.ts";
import { openPeople } from "./world/people.ts";
import { openProjects } from "./world/projects.ts";
import { openProvider, type Provider } from "./world/provider.ts";
import { openStrangers } from "./world/strangers.ts";
import { endQuietly } from "./judge/quiet.ts";
import type { Kind } from "./kinds/kind.ts";
import { performMany } from "./kinds/many.ts";
import { performSpan } from "./kinds/span.ts";
import { counted, countEndings } from "./met.ts";
import { checkSums } from "./money/sums-told.ts";
import { meet } from "./tally.ts";
import { bindingsOf, MINUTE, MONTH_END, SIBLING } from "./world/settings.ts";
import type { Transaction } from "./world/sim-db.ts";
import { inTurn, turnsIn } from "./world/turns.ts";
import { isOf, isProtected } from "./world/truth.ts";

/** A promise that did not hold. */
export class Broken extends Error {
  override readonly name = "Broken";
}

export async function play(
  database: Database,
  given: Kind,
  history: History,
  books: Books,
  transaction: Transaction = (act) => act(),
): Promise<void> {
  const { minutesLeft, steps } = history;
  const kind = { ...given, ...given.under?.(history) };
  vi.clearAllTimers();
  const ours = env.INSTALLATION;
  const begin = MONTH_END - minutesLeft * MINUTE;
  const clock = { now: begin, skew: 0, ahead: 0 };
  const broken = (what: string): void => void books.broken.push(what);
  const leases = openLeases(clock, kind.rules, broken);
  const others = openLeases(clock, kind.rules, broken);
  const leasesOf = (installation: string): Leases => (installation === ours ? leases : others);
  const watch = openWatch({ books, leasesOf, rules: kind.rules, clock });
  const bare = openProvider(clock, books, watch);
  const judging = { books, clock, provider: bare };
  const judge = openJudge({ ...judging, leases, installation: ours });
  const money = kind.isMoneyJudged ? openMoney(clock, bare, books, ours, leases, kind.rules) : null;
  const provider = money?.watching() ?? bare;
  const isolation = judgeIsolation(provider.simulator, database, books, clock);
  const beside = judgeBeside(provider.simulator, books, clock, ours);
  const projects = openProjects(provider, clock, books);
  const watched: Pick<Provider, "call"> = {
    call(request, installation, reads) {
      // The project that its token rules now has none of ours.
      if (operations.isAway()) for (const server of ourServers()) judge.unseen(server);
      else {
        operations.watch(request, () => provider.simulator.state());
        beside.watch(request);
      }
      return projects.call(request, installation, reads);
    },
  };
  const uids = { count: 0 };
  const open = (installation: string, its: Judge, callers: Callers) => {
    const secrets = openSecrets(books, () => callers.secrets);
    const bindings = bindingsOf(installation, kind);
    const reached = installation === ours ? watched : provider;
    const surroundings = { installation, bindings, clock, provider: reached, database, books, secrets };
    const real = openInstallation(surroundings, uids);
    const mayfly = installation === ours ? counted(real, books.met) : real;
    const judges = { judge: its, secrets, beside, isolation };
    return { books, kind, clock, provider, database, mayfly, callers, installation, ...judges };
  };
  const scene: Scene = { ...open(ours, judge, openCallers()), money };
  const operations = openOperations(scene, ours);
  const itsJudge = openJudge({ ...judging, leases: others, installation: SIBLING });
  const sibling: Scene = { ...open(SIBLING, itsJudge, openCallers()), money: null };
  const people = openPeople(provider, ours);
  const afterTick = createLate({ books, leases, rules: kind.rules });
  const afterPasses = createOwned(books, leases, provider.isUnseen);
  const health = createHealth(
    {
      books,
      leases,
      rules: kind.rules,
      sweptAt: judge.sweptAt,
      ask: () => scene.mayfly.send(QUIETLY, { method: "GET", path: "/healthz", token: "none" }),
      servers: () => ourServers(),
    },
    begin,
  );
  let copy: Copy | null = null;
  let siblings = newDatabase(begin);
  await become(database, newDatabase(begin));
  const strangers = kind.hasStrangers === true ? await openStrangers(provider, ours, begin) : null;
  const hands = openHands(provider, ours, strangers);

  const circumstances = (mishap: Mishap | null): Circumstances => ({
    mishap,
    onStrike: ({ what }) => {
      if (what === "d1_refuses" || what === "d1_down") books.isD1Refusing = true;
      books.wide.add(what);
      books.near.add(what);
      strike(books, what, clock.now + clock.ahead);
    },
  });
  const ourServers = () => provider.simulator.state().servers.filter((server) => isOf(server, ours));
  const serverAt = (which: number) => {
    const all = ourServers();
    return all[which % Math.max(1, all.length)];
  };

  function changeDatabase(isRestored: boolean): void {
    judge.databaseChanged();
    beside.databaseChanged();
    isolation.databaseChanged();
    scene.callers.forget();
    health.forget();
    money?.lost(isRestored);
  }

  /** A tick, whose time may be off ours: it is that by which it judges, and is judged. */
  async function tick(mishap: Mishap | null, off = 0, order = books.ticks + 1): Promise<void> {
    const now = clock.now + off;
    clock.ahead = Math.max(0, off);
    await health.check(clock.now);
    books.wide.clear();
    books.near.clear();
    books.hit.clear();
    const report = await sweepOnce(scene, { ...circumstances(mishap), turn: turnsIn(order) }, off);
    const isOver = report !== null && report !== undefined && books.struckAt <= clock.now + clock.ahead;
    clock.ahead = 0;
    // What comes so far ahead of its time does nothing.
    const isJudged = isOver && off <= MOST_AHEAD && books.excuses.size === 0;
    const quality = isJudged ? qualityOf(books, mishap) : "bad";
    afterTick(ourServers(), now, quality);
    afterPasses(ourServers(), await liveRows(database), now, quality);
    health.tick(now, quality);
    await health.check(clock.now);
    money?.afterTick(quality === "good");
  }

  async function take(step: Step): Promise<void> {
    switch (step.do) {
      case "tick":
        clock.now += MINUTE;
        return tick(step.mishap, 0, step.order);
      case "create":
      case "renew":
      case "destroy":
      case "list":
      case "event":
      case "replay":
        await perform(scene, step, circumstances(step.mishap));
        return;
      case "minutes":
        for (let minute = 0; minute < step.count; minute++) {
          clock.now += MINUTE;
          await transaction(() => tick(null, 0, step.order));
        }
        return;
      case "together": {
        const { first, second, order, mishap } = step;
        const one = (act: Act, own: Mishap | null) => async (turn: () => Promise<void>) => {
          await perform(scene, act, { ...circumstances(own), turn });
        };
        return inTurn(order, [one(first, mishap), one(second, null)]);
      }
      case "crowd": {
        const { owner, ttl } = step;
        for (let number = 0; number < step.count; number++)
          await perform(scene, { do: "create", owner, name: `c${number}`, ttl, spec: 0 }, circumstances(null));
        return;
      }
      case "many":
        return performMany(scene, step, circumstances(null), transaction);
      case "span":
        return performSpan({ scene, ourServers, tick: (order) => transaction(() => tick(null, 0, order)) }, step);
      case "pass":
        clock.now += step.minutes * MINUTE;
        return;
      case "odd_ticks":
        for (const minutes of step.off) {
          strike(books, "odd_tick", books.struckAt);
          money?.otherClocks();
          await tick(null, minutes * MINUTE);
        }
        return;
      case "fault":
        return provider.fault(step);
      case "scarce":
        return provider.oddities.beScarce(step.minutes);
      case "vanish": {
        const one = serverAt(step.which);
        if (one !== undefined && !isProtected(one)) provider.oddities.hide(one.id, step.minutes);
        return;
      }
      case "garble": {
        const one = serverAt(step.which);
        if (one !== undefined) provider.lies.garble(one.id, step.minutes, step.how);
        return;
      }
      case "lose_d1":
        changeDatabase(false);
        return become(database, newDatabase(clock.now));
      case "copy_d1":
        copy = await copyOf(database);
        money?.copied();
        return;
      case "restore_d1":
        if (copy === null) return;
        changeDatabase(true);
        return become(database, copy);
      case "skew":
        clock.skew = step.seconds * 1000;
        money?.otherClocks();
        return;
      case "hand_made":
        return people.makeByHand();
      case "prices":
        strike(books, "prices", books.struckAt);
        return money?.price(step.percent);
      case "catalogue":
        strike(books, "catalogue", books.struckAt);
        await database.rows(sql("DELETE FROM catalogues"));
        return;
      case "edit": {
        const edited = await people.edit(step.which, step.what, clock.now);
        if (edited !== undefined) judge.changedByHand(edited);
        strike(books, "edit", clock.now);
        return;
      }
      case "protect":
      case "unprotect":
        await people.protect(step.which, step.do === "protect");
        strike(books, "protection", clock.now);
        return;
      case "sibling": {
        const mine = await copyOf(database);
        await become(database, siblings);
        await perform(sibling, step.act, circumstances(null));
        siblings = await copyOf(database);
        return become(database, mine);
      }
      default:
        if (isCallerAct(step)) return performCaller(scene, step, circumstances(step.mishap));
        return takeOperator({ scene, operations, hands, tick: () => tick(null) }, step, circumstances);
    }
  }

  const check = () => {
    const [first] = books.broken;
    if (first !== undefined) throw new Broken(first);
  };
  for (const step of steps) {
    meet(books.met, `step ${step.do}`);
    await (isLong(step) ? take(step) : transaction(() => take(step)));
    books.isD1Refusing = false;
    check();
  }
  await provider.heal();
  operations.restore();
  if (strangers !== null) await perform(scene, { do: "release", hold: "credential" }, circumstances(null));
  money?.checkBill();
  await endQuietly({ scene, clock, people, tick: () => transaction(() => tick(null)), ourServers, check });
  for (const one of strangers?.changed() ?? []) books.broken.push(`I2: ${one} of somebody else is not what it was`);
  check();
  if (kind.isCostSummed) await checkSums(scene);
  await countEndings(database, books.met);
}

/** As far ahead of the clock a tick's time is believed. */
const MOST_AHEAD = 5 * MINUTE;

/** Each of its parts has a transaction of its own. */
const isLong = (step: Step): boolean => step.do === "minutes" || step.do === "many" || step.do === "span";

function qualityOf({ wide, near, hit }: Books, mishap: Mishap | null): Quality {
  if (wide.size === 0) return "good";
  if (near.size === 0) return "apart";
  const isD1Down = mishap?.what === "d1_down" && mishap.at === 0 && wide.size === 1;
  return isD1Down && hit.size === 0 ? "blind" : "bad";
}
