/** What callers and cron do to one mayfly, and what is written down of the answers. */
import * as z from "zod";
import { sql } from "../../src/store/db.ts";
import { performOperator } from "./acts/operator.ts";
import { isOperatorAct, type OperatorAct } from "./acts/operator-acts.ts";
import { performCaller } from "./acts/caller.ts";
import { isCallerAct, type CallerAct } from "./acts/caller-acts.ts";
import type { BesideJudge } from "./judge/beside.ts";
import type { Books } from "./judge/books.ts";
import type { Isolation } from "./judge/isolation.ts";
import type { Judge } from "./judge/judge.ts";
import { OWNERS, type Callers } from "./world/callers.ts";
import type { Database } from "./world/database.ts";
import { checkEnded, factOf, ownerOf, PULL_REQUEST, sendEvent, type EventAct } from "./events.ts";
import { LIVES, type Act } from "./history.ts";
import type { Kind } from "./kinds/kind.ts";
import type { Answer, Installation } from "./world/installation.ts";
import type { Circumstances } from "./world/invocation.ts";
import type { Clock, Provider } from "./world/provider.ts";
import type { SweepReport } from "../../src/reaper/report.ts";
import type { Money } from "./money/money.ts";
import { SECRETS } from "./world/settings.ts";
import { SPECS } from "./world/specs.ts";
import { isOf, keyOf as keyOfServer, uidOf } from "./world/truth.ts";

const machineAnswer = z.object({
  machine: z.object({ id: z.templateLiteral(["mch_", z.string()]), expires_at: z.iso.datetime() }),
});

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
    const judge = scene.money?.asked(act);
    const call = async () => ({ method, path, body, token: await callers.tokenOf(owner, clock.now) });
    let answer = await mayfly.send(circumstances, await call());
    if (answer?.status === 401 && (await callers.renew(owner, mayfly, circumstances)))
      answer = await mayfly.send({ ...circumstances, mishap: null }, await call());
    judge?.(answer);
    books.answers += 1;
    if (answer !== undefined && answer.status < 300) books.served.set(owner, (books.served.get(owner) ?? 0) + 1);
    books.trace.push(`${act.do}: ${answer?.status ?? "died"}`);
    if (answer !== undefined) check(answer, `${method} ${path}`, scene);
    return answer;
  };
  if (act.do === "renew" || act.do === "destroy")
    for (const server of theirs(scene, act)) books.lengthened.delete(uidOf(server));
  switch (act.do) {
    case "create":
      note(books, await send("PUT", pathOf(act), { ...SPECS[act.spec], ttl: act.ttl }));
      return;
    case "renew": {
      const least = clock.now + LIVES[act.ttl];
      const answer = await send("POST", pathOf(act, "/renew"), { ttl: act.ttl });
      const end = note(books, answer);
      if (end !== null && end < least) books.broken.push(`I4: a renewal was answered with an earlier end`);
      return;
    }
    case "destroy": {
      books.asking.add(keyOf(act));
      const answer = await send("DELETE", pathOf(act) + (act.failed ? "&outcome=failure" : ""));
      books.asking.delete(keyOf(act));
      // Kept, as it was asked for, is no word against its life, but an end of its own.
      if (answer?.text.includes("kept_until")) note(books, answer);
      else await noteAsked(scene, act);
      return;
    }
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

/** Of what has ended its machine anything may die from then on, whether that was heard or not. */
async function performEvent(scene: Scene, act: EventAct, circumstances: Circumstances): Promise<void> {
  const { books } = scene;
  const fact = factOf(scene, act);
  if (fact === undefined) return;
  const whose = { owner: ownerOf(fact.repository), name: PULL_REQUEST };
  const isEnd = fact.action === "closed";
  if (isEnd) books.asking.add(keyOf(whose));
  const answer = await sendEvent(scene, fact, circumstances);
  if (isEnd) {
    if (answer?.status === 202) await checkEnded(scene, fact);
    await noteAsked(scene, whose);
    books.asking.delete(keyOf(whose));
  }
  books.trace.push(`${fact.action}: ${answer?.status ?? "died"}`);
  if (answer !== undefined) check(answer, "an event", scene);
}

/** One tick, at its time or `off` it: its report, null where another sweep ran, undefined where the Worker died. */
export async function sweepOnce(
  { books, mayfly }: Scene,
  circumstances: Circumstances,
  off = 0,
): Promise<SweepReport | null | undefined> {
  const report = await mayfly.tick(circumstances, off);
  books.ticks += 1;
  books.trace.push(`tick: ${report === undefined ? "died" : JSON.stringify(report?.phases ?? null)}`);
  return report;
}

interface Whose {
  readonly owner: string;
  readonly name: string;
}
const keyOf = ({ owner, name }: Whose): string => `${owner}/${name}`;
const pathOf = ({ owner, name }: Whose, what = ""): string => `/v1/machines/${name}${what}?owner=${owner}`;

/** What an answer says of an end is what its owner goes by from now on. Null where it says nothing. */
function note(books: Books, answer: Answer | undefined): number | null {
  if (answer === undefined || answer.status >= 300) return null;
  const { machine } = machineAnswer.parse(JSON.parse(answer.text));
  const end = Date.parse(machine.expires_at);
  books.told.set(machine.id.slice("mch_".length), end);
  return end;
}

/** Whatever is this owner's of that name may die from now on: somebody has said so, and was heard or not. */
async function noteAsked(scene: Scene, whose: Whose): Promise<void> {
  const { books, database } = scene;
  const { owner, name } = whose;
  const rows = await database.rows(sql("SELECT uid FROM machines WHERE owner = ? AND name = ?", owner, name));
  for (const { uid } of rows) books.asked.add(String(uid));
  for (const server of theirs(scene, whose)) books.asked.add(uidOf(server));
}

const theirs = ({ provider, installation }: Scene, whose: Whose) =>
  provider.simulator.state().servers.filter((one) => isOf(one, installation) && keyOfServer(one) === keyOf(whose));

/** I7 and I8, as far as an answer shows them. */
function check({ status, text }: Answer, what: string, { books, callers }: Scene): void {
  if (status === 500) books.broken.push(`I8: ${what} was answered with 500: ${text}`);
  for (const secret of [...SECRETS, ...callers.secrets])
    if (text.includes(secret)) books.broken.push(`I7: the answer to ${what} tells ${secret}`);
}
