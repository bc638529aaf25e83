/** What callers and cron do to one mayfly, and what is written down of the answers. */
import { checkAnswer } from "./acts/call.ts";
import { performCaller } from "./acts/caller.ts";
import { isCallerAct, type CallerAct } from "./acts/caller-acts.ts";
import { performOperator } from "./acts/operator.ts";
import { isOperatorAct, type OperatorAct } from "./acts/operator-acts.ts";
import type { BesideJudge } from "./judge/beside.ts";
import type { Books } from "./judge/books.ts";
import type { Isolation } from "./judge/isolation.ts";
import { noteUnseen } from "./judge/unseen.ts";
import { LONGEST, OWNERS, type Callers } from "./world/callers.ts";
import type { Database } from "./world/database.ts";
import { checkEnded, EVENT_TTL, factOf, ownerOf, PULL_REQUEST, sendEvent, type EventAct } from "./events.ts";
import { LIVES, type Act } from "./history.ts";
import type { Kind } from "./kinds/kind.ts";
import type { Installation } from "./world/installation.ts";
import type { Circumstances } from "./world/invocation.ts";
import type { Clock, Provider } from "./world/provider.ts";
import type { SweepReport } from "../../src/reaper/report.ts";
import type { Money } from "./money/money.ts";
import { meet } from "./tally.ts";
import type { Ask, Judge } from "./judge/judge.ts";
import { keyOf, type Whose } from "./judge/leases.ts";
import type { Secrets } from "./judge/secrets.ts";
import { HOUR, MINUTE } from "./world/settings.ts";
import { keepOf, SPECS } from "./world/specs.ts";
import { isOf, keyOf as keyOfServer } from "./world/truth.ts";

export interface Scene {
  readonly books: Books;
  readonly kind: Kind;
  readonly clock: Clock;
  readonly provider: Provider;
  readonly database: Database;
  readonly mayfly: Installation;
  readonly callers: Callers;
  readonly installation: string;
  /** Null where nobody judges it. */
  readonly money: Money | null;
  readonly judge: Judge;
  readonly secrets: Secrets;
  /** The judge of what machines use. */
  readonly beside: BesideJudge;
  readonly isolation: Isolation;
}

/** What is neither an operator's nor of the callers of all kinds. */
type Plain = Exclude<Act, OperatorAct | CallerAct>;

/** Whoever renews has something to renew, if anybody has. */
function aimed(act: Plain, { kind, provider, installation }: Scene): Plain {
  if (act.do !== "renew") return act;
  const { servers } = provider.simulator.state();
  const keys = new Set(servers.filter((one) => isOf(one, installation)).map(keyOfServer));
  const all = OWNERS.flatMap((owner) => kind.rules.names.map((name) => ({ owner, name })));
  const other = all.find((one) => keys.has(keyOf(one)));
  return keys.has(keyOf(act)) ? act : { ...act, ...other };
}

/** Lets somebody do something, whatever becomes of it. */
export async function perform(scene: Scene, given: Act, circumstances: Circumstances): Promise<void> {
  if (isOperatorAct(given)) return performOperator(scene, given, circumstances);
  if (isCallerAct(given)) return performCaller(scene, given, circumstances);
  const act = aimed(given, scene);
  const { books, clock, mayfly, callers } = scene;
  const owner = "owner" in act ? act.owner : "tok.ann";
  const send = async (method: string, path: string, body?: unknown) => {
    const holdMoney = scene.money?.asked(act);
    const hold = scene.judge.asks(askOf(act));
    const call = async () => ({ method, path, body, token: await callers.tokenOf(owner, clock.now) });
    let answer = await mayfly.send(circumstances, await call());
    if (answer?.status === 401 && (await callers.renew(owner, mayfly, circumstances)))
      answer = await mayfly.send({ ...circumstances, mishap: null }, await call());
    noteUnseen(scene);
    holdMoney?.(answer);
    hold(answer);
    books.answers += 1;
    if (answer !== undefined && answer.status < 300) meet(books.served, owner);
    books.trace.push(`${act.do}: ${answer?.status ?? "died"}`);
    if (answer !== undefined) checkAnswer(scene, answer, `${method} ${path}`);
    return answer;
  };
  switch (act.do) {
    case "create":
      await send("PUT", pathOf(act), { ...SPECS[act.spec], ttl: act.ttl });
      return;
    case "renew":
      await send("POST", pathOf(act, "/renew"), { ttl: act.ttl });
      return;
    case "destroy":
      await send("DELETE", pathOf(act) + (act.failed ? "&outcome=failure" : ""));
      return;
    case "event":
    case "replay":
      return performEvent(scene, act, circumstances);
    case "list":
      await send("GET", "/v1/machines");
      return;
    case "tick":
      await sweepOnce(scene, circumstances);
  }
}

/** What the judge is told of an act. */
function askOf(act: Plain): Ask {
  switch (act.do) {
    case "create":
      return {
        do: "create",
        owner: act.owner,
        name: act.name,
        ttl: LIVES[act.ttl],
        keep: keepOf(SPECS[act.spec]),
        longest: LONGEST[act.owner],
      };
    case "renew":
      return { do: "renew", owner: act.owner, name: act.name, ttl: LIVES[act.ttl] };
    case "destroy":
      return { do: "destroy", owner: act.owner, name: act.name, isFailed: act.failed };
    default:
      return { do: "read" };
  }
}

/** As far as a sweep's time is from ours, and the whole seconds that are told. */
const EVENT_OFF = 5 * MINUTE;
/** So long what an event asked for is tried. */
const EVENT_TRIED = HOUR;

/** Of what has ended its machine anything may die from then on, whether that was heard or not. */
async function performEvent(scene: Scene, act: EventAct, circumstances: Circumstances): Promise<void> {
  const { books, judge } = scene;
  const fact = factOf(scene, act);
  if (fact === undefined) return;
  const whose = { owner: ownerOf(fact.repository), name: PULL_REQUEST };
  const isEnd = fact.action === "closed";
  const word = isEnd ? judge.leases.word(whose) : null;
  // It may be carried out whenever, and what is there already is moved.
  if (!isEnd) {
    judge.leases.create(whose, { ttl: EVENT_TTL, keep: null, longest: null, isEvent: true });
    const [from, last] = [scene.clock.now, scene.clock.now + EVENT_TRIED + EVENT_OFF];
    judge.leases.move(whose, {
      span: () => ({
        from: from + EVENT_TTL - EVENT_OFF,
        to: Math.min(scene.clock.now, last) + EVENT_TTL + EVENT_OFF,
      }),
      isOpen: () => scene.clock.now < last,
    });
  }
  const over = judge.beside();
  const answer = await sendEvent(scene, fact, circumstances);
  over();
  if (word !== null) {
    if (answer?.status === 202) await checkEnded(scene, fact);
    word.to = scene.clock.now;
  }
  books.trace.push(`${fact.action}: ${answer?.status ?? "died"}`);
  if (answer !== undefined) checkAnswer(scene, answer, "an event");
}

/** One tick, at its time or `off` it: its report, null where another sweep ran, undefined where the Worker died. */
export async function sweepOnce(
  scene: Scene,
  circumstances: Circumstances,
  off = 0,
): Promise<SweepReport | null | undefined> {
  const { books, clock, mayfly, judge } = scene;
  const over = judge.beside();
  const now = clock.now + off;
  const report = await mayfly.tick(circumstances, off);
  // One that died may have done so at its very end.
  if (report !== null) judge.swept(Math.max(now, clock.now));
  over();
  noteUnseen(scene);
  books.ticks += 1;
  books.trace.push(`tick: ${report === undefined ? "died" : JSON.stringify(report?.phases ?? null)}`);
  return report;
}

const pathOf = ({ owner, name }: Whose, what = ""): string => `/v1/machines/${name}${what}?owner=${owner}`;
