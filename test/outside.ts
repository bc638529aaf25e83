/**
 * What mayfly sends out, counted where it leaves it: at the binding of D1 and at the runtime's `fetch`. Its own meter, by which it keeps within
 * a plan and which it logs, is held against that count after each request and each sweep of all tests; what differs is told after the test.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Host } from "../src/http/edge/app-env.ts";
import type { LogEvent } from "../src/log.ts";
import type { Meter } from "../src/reaper/budget.ts";
import type { Runtime } from "../src/runtime.ts";
import { through } from "./trips.ts";

/** What Cloudflare allows one invocation, by plan: behind that it ends, without an error. */
export const ALLOWED = { free: { fetches: 50, statements: 50 }, paid: { fetches: 10_000, statements: 1_000 } };
/** A report is written down, and the lock released, when it has been made. */
const CLOSING_STATEMENTS = 2;

/** What mayfly is to be held to in one invocation. */
export interface Terms {
  readonly what: string;
  readonly plan: keyof typeof ALLOWED;
  /** A dry run counts calls that it does not make. */
  readonly isDry?: boolean;
}
type Counts = Pick<Meter, "fetches" | "statements">;
interface Invocation extends Terms, Counts {
  readonly meters: Meter[];
  isOver: boolean;
}

const current = new AsyncLocalStorage<Invocation>();
const wrong: string[] = [];
const tell = ({ what }: Terms, fault: string) => wrong.push(`${what}: ${fault}`);

/** Runs one invocation to its end, with all that it hands to `waitUntil`, and holds its meter and its plan against what went out. */
export async function fromOutside<T>(terms: Terms, act: (sent: Counts) => Promise<T>): Promise<T> {
  const invocation: Invocation = { ...terms, fetches: 0, statements: 0, meters: [], isOver: false };
  try {
    return await current.run(invocation, () => act(invocation));
  } finally {
    invocation.isOver = true;
    judge(invocation);
  }
}

function judge(invocation: Invocation): void {
  const { meters, plan, fetches, statements } = invocation;
  // One for all that it sends, because a plan limits the whole of it.
  if (meters.length > 1) tell(invocation, `${meters.length} meters`);
  compare(invocation, "the meter", meters[0] ?? { fetches: 0, statements: 0 });
  if (fetches > ALLOWED[plan].fetches || statements > ALLOWED[plan].statements)
    tell(invocation, `${fetches} and ${statements} are more than ${plan} allows`);
}

/** Holds what is said against what went out by now; `unsaid` statements may have gone out since. */
function compare(invocation: Invocation, whose: string, said: Counts, unsaid = 0): void {
  const { fetches, statements, isDry = false } = invocation;
  const isEnough = said.fetches >= fetches && said.statements >= statements - unsaid;
  const isMore = said.fetches > fetches || said.statements > statements;
  if (isEnough && (isDry || !isMore)) return;
  tell(invocation, `${whose} says ${said.fetches} and ${said.statements}, and it was ${fetches} and ${statements}`);
}

function count(what: keyof Counts, many: number): void {
  const invocation = current.getStore();
  if (invocation === undefined) return;
  invocation[what] += many;
  if (invocation.isOver) tell(invocation, `${what} behind its end, which nobody had handed to waitUntil`);
}

/** The same way out, counted. */
export const countedFetch =
  (fetch: Runtime["fetch"]): Runtime["fetch"] =>
  (input, init) => {
    count("fetches", 1);
    return fetch(input, init);
  };

/** The same database, counted. */
export const countedDb = (db: D1Database): D1Database =>
  through(db, (trip, send) => {
    count("statements", trip.length);
    return send();
  });

/** Notes the meter that mayfly has opened for an invocation. */
export const noteMeter = (meter: Meter): void => void current.getStore()?.meters.push(meter);

/** The same host; whatever meter it opens is noted. */
export const metered = (host: Host): Host => ({
  ...host,
  openRequest: (env, requestId) => {
    const scope = host.openRequest(env, requestId);
    noteMeter(scope.meter);
    return scope;
  },
  openHealth: (env) => {
    const opened = host.openHealth(env);
    noteMeter(opened.meter);
    return opened;
  },
});

/** Holds what a request's line of the log says against what it has sent by then. */
export function hearLine({ event, fetches, statements }: LogEvent): void {
  const invocation = current.getStore();
  if (event !== "request" || invocation === undefined) return;
  compare(invocation, "the log", { fetches: Number(fetches), statements: Number(statements) });
}

/** The same of a sweep's report, as soon as it is there. */
export function hearReport(report: Counts | null): void {
  const invocation = current.getStore();
  if (report !== null && invocation !== undefined) compare(invocation, "the report", report, CLOSING_STATEMENTS);
}

/** What was wrong since somebody asked last. */
export const takeMiscounts = (): string[] => wrong.splice(0);

/** Throws where mayfly has counted otherwise than it sent, or sent more than its plan allows. */
export function refuseMiscounts(): void {
  const told = takeMiscounts();
  if (told.length > 0) throw new Error(`counted from outside (fetches and statements): ${told.join("; ")}`);
}
