/** What D1 says that statements cost: rows that they read and wrote, which a plan limits by the day. */

export interface Rows {
  read: number;
  written: number;
}

/** The same database, and the rows that statements which match have read and written through it so far. */
export function counting(db: D1Database, matching = /./): { readonly db: D1Database; readonly rows: Rows } {
  const rows: Rows = { read: 0, written: 0 };
  const texts = new WeakMap<D1PreparedStatement, string>();
  const count = <Result extends D1Result>(result: Result, text = ""): Result => {
    if (!matching.test(text)) return result;
    rows.read += result.meta.rows_read;
    rows.written += result.meta.rows_written;
    return result;
  };
  const prepare = (text: string): D1PreparedStatement => {
    const statement = db.prepare(text);
    const bind = statement.bind.bind(statement);
    statement.bind = (...params: unknown[]) => {
      const bound = bind(...params);
      const all = bound.all.bind(bound);
      bound.all = async <T>() => count(await all<T>(), text);
      texts.set(bound, text);
      return bound;
    };
    return statement;
  };
  const batch = async <T>(statements: D1PreparedStatement[]) =>
    (await db.batch<T>(statements)).map((result, index) => {
      const statement = statements[index];
      return count(result, statement && texts.get(statement));
    });
  const counted = new Proxy(db, {
    get: (target, key: keyof D1Database) =>
      key === "prepare" ? prepare : key === "batch" ? batch : target[key].bind(target),
  });
  return { db: counted, rows };
}
