// Wraps the bundle that is measured: every trip to D1 is written down, and told to whoever asks `/_bench/trips`, after all that
// goes on behind answers has ended.
import mayfly from "../../../src/index.ts";

interface Statement {
  readonly text: string;
  /** Null where D1 does not tell. */
  readonly read: number | null;
  readonly written: number | null;
}

const trips: Statement[][] = [];
const behind: Promise<unknown>[] = [];
const originals = new WeakMap<D1PreparedStatement, { statement: D1PreparedStatement; text: string }>();

const told = (text: string, { meta }: D1Result): Statement => ({
  text,
  read: meta.rows_read,
  written: meta.rows_written,
});
const untold = (text: string): Statement => ({ text, read: null, written: null });

function counted(statement: D1PreparedStatement, text: string): D1PreparedStatement {
  const whole = async <T>(answer: Promise<D1Result<T>>): Promise<D1Result<T>> => {
    const result = await answer;
    trips.push([told(text, result)]);
    return result;
  };
  const ways: Record<string, unknown> = {
    bind: (...values: unknown[]) => counted(statement.bind(...values), text),
    all: () => whole(statement.all()),
    run: () => whole(statement.run()),
    first: async (column?: string) => {
      const [row] = (await whole(statement.all())).results;
      return row === undefined ? null : column === undefined ? row : row[column];
    },
    raw: async () => {
      trips.push([untold(text)]);
      return statement.raw();
    },
  };
  const proxy = new Proxy(statement, { get: (target, key): unknown => ways[String(key)] ?? Reflect.get(target, key) });
  originals.set(proxy, { statement, text });
  return proxy;
}

async function batch(db: D1Database, statements: D1PreparedStatement[]): Promise<D1Result[]> {
  const sent = statements.map((one) => originals.get(one) ?? { statement: one, text: "?" });
  const results = await db.batch(sent.map(({ statement }) => statement));
  trips.push(results.map((result, index) => told(sent[index]?.text ?? "?", result)));
  return results;
}

const countedDb = (db: D1Database): D1Database =>
  new Proxy(db, {
    get: (target, key) => {
      if (key === "prepare") return (text: string) => counted(target.prepare(text), text);
      if (key === "batch") return (statements: D1PreparedStatement[]) => batch(target, statements);
      if (key === "exec")
        return async (text: string) => {
          trips.push([untold(text)]);
          return target.exec(text);
        };
      throw new Error(`the benchmark cannot count ${String(key)}`);
    },
  });

const watched = (context: ExecutionContext): ExecutionContext =>
  new Proxy(context, {
    get: (target, key): unknown => {
      if (key === "waitUntil")
        return (promise: Promise<unknown>) => {
          behind.push(promise);
          target.waitUntil(promise);
        };
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

async function takeTrips(): Promise<Statement[][]> {
  while (behind.length > 0) await Promise.allSettled(behind.splice(0));
  return trips.splice(0);
}

export default {
  async fetch(request, env, context) {
    if (new URL(request.url).pathname === "/_bench/trips") return Response.json(await takeTrips());
    return mayfly.fetch(request, { ...env, DB: countedDb(env.DB) }, watched(context));
  },
  scheduled: (event, env) => mayfly.scheduled(event, { ...env, DB: countedDb(env.DB) }),
} satisfies ExportedHandler<Env>;
