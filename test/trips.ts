/** The trips that go to D1: a prepared statement that is run, or a batch. Each is told by its statements. */
import { env } from "cloudflare:workers";
import type { Mayfly } from "./mayfly.ts";

export type Trip = readonly string[];
type Results<T> = readonly D1Result<T>[];
/** Makes a trip by `send`, or does not; answers what is told of each statement. */
type Go = <T>(trip: Trip, send: () => Promise<Results<T>>) => Promise<Results<T>>;

/** Ways to ask D1 that mayfly does not go. */
const OTHER_WAYS = ["first", "run", "raw"] as const;
const noWay = (way: string): never => {
  throw new Error(`nobody would see what goes to D1 by ${way}()`);
};

/** The same database, whose every trip goes by `go`; it can be asked in no other way. */
export function through(db: D1Database, go: Go): D1Database {
  const texts = new WeakMap<D1PreparedStatement, string>();
  const prepare = (text: string): D1PreparedStatement => {
    const statement = db.prepare(text);
    const bind = statement.bind.bind(statement);
    for (const way of OTHER_WAYS) statement[way] = () => noWay(way);
    statement.all = () => noWay("all() without bind");
    statement.bind = (...params: unknown[]) => {
      const bound = bind(...params);
      const all = bound.all.bind(bound);
      bound.all = async <T>() => {
        const [result] = await go<T>([text], async () => [await all<T>()]);
        if (result === undefined) throw new Error("a trip without an answer");
        return result;
      };
      for (const way of OTHER_WAYS) bound[way] = () => noWay(way);
      texts.set(bound, text);
      return bound;
    };
    return statement;
  };
  const batch = <T>(statements: D1PreparedStatement[]) =>
    go<T>(
      statements.map((statement) => texts.get(statement) ?? "unknown"),
      () => db.batch<T>(statements),
    );
  return new Proxy(db, {
    get: (_target, key) => (key === "prepare" ? prepare : key === "batch" ? batch : () => noWay(String(key))),
  });
}

/** The same database, and the trips that went to it so far; `before` is called with each as it sets out, and waited for. */
export function tripping(
  db: D1Database,
  before: (trip: Trip) => Promise<unknown> | undefined = () => undefined,
): { readonly db: D1Database; readonly trips: Trip[] } {
  const trips: Trip[] = [];
  const tripped = through(db, async (trip, send) => {
    trips.push(trip);
    await before(trip);
    return send();
  });
  return { db: tripped, trips };
}

/** The trips that a call makes; `before` is called with each as it sets out. */
export async function tripsOf(
  mayfly: Mayfly,
  act: () => Promise<unknown>,
  before?: (trip: Trip) => Promise<unknown> | undefined,
): Promise<Trip[]> {
  const { db, trips } = tripping(env.DB, before);
  mayfly.configure({ DB: db });
  await act();
  mayfly.configure({ DB: env.DB });
  return trips;
}

/** Does something once, just before the first trip with a statement that matches. */
export function once(pattern: RegExp, act: () => Promise<unknown>): (trip: Trip) => Promise<unknown> | undefined {
  let isDone = false;
  return (trip) => {
    if (isDone || !trip.some((text) => pattern.test(text))) return undefined;
    isDone = true;
    return act();
  };
}
