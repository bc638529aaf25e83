/** The trips that go to D1: a prepared statement that is run, or a batch. Each is told by its statements. */

export type Trip = readonly string[];

/** The same database, and the trips that went to it so far; `before` is called with each as it sets out, and waited for. */
export function tripping(
  db: D1Database,
  before: (trip: Trip) => Promise<unknown> | undefined = () => undefined,
): { readonly db: D1Database; readonly trips: Trip[] } {
  const trips: Trip[] = [];
  const texts = new WeakMap<D1PreparedStatement, string>();
  const setOut = async (trip: Trip) => {
    trips.push(trip);
    await before(trip);
  };
  const prepare = (text: string): D1PreparedStatement => {
    const statement = db.prepare(text);
    const bind = statement.bind.bind(statement);
    statement.bind = (...params: unknown[]) => {
      const bound = bind(...params);
      const all = bound.all.bind(bound);
      bound.all = async <T>() => {
        await setOut([text]);
        return all<T>();
      };
      texts.set(bound, text);
      return bound;
    };
    return statement;
  };
  const batch = async <T>(statements: D1PreparedStatement[]) => {
    await setOut(statements.map((statement) => texts.get(statement) ?? "unknown"));
    return db.batch<T>(statements);
  };
  const tripped = new Proxy(db, {
    get: (target, key: keyof D1Database) =>
      key === "prepare" ? prepare : key === "batch" ? batch : target[key].bind(target),
  });
  return { db: tripped, trips };
}
