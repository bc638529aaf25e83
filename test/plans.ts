/**
 * A watch over all statements that tests have a store send: none may read a table that grows from end to end, nor sort what it reads of it. So a
 * row of history costs no more than its place. A statement is judged when a test first sends it, and what is found is told after that test.
 */

/** Tables that no history adds to. All others grow, those of later migrations included. */
const SMALL: ReadonlySet<string> = new Set(["locks", "settings", "catalogues", "cooldowns", "reap_failures"]);

/** Indexes that have no row of the past: of live rows, or of those that are few for another reason. */
const OF_FEW: Readonly<Record<string, string>> = {
  machines_by_live_name: "live rows",
  machines_by_live_account: "live rows",
  machines_by_end: "live rows",
  machines_by_provider_id: "live rows",
  machines_unsettled: "live rows",
  machines_unbooked: "live rows, and those whose hours are soon in the sums",
  machines_to_book: "what ended a moment ago: a sweep takes it into the sums",
  deliveries_pending: "what is still to be carried out, within a day",
  deliveries_pending_of_machine: "likewise, of one machine",
  machines_ended_for_absence: "only machines that somebody took away at the provider",
  resources_by_live_name: "live rows",
  resources_by_end: "live rows",
  resources_by_spec: "live rows",
  resources_given_up: "each stands at the provider still",
};

/** What reads several rows of a table that grows: how such steps of a plan begin, in which statements, and why they are few. */
interface Exception {
  readonly because: string;
  readonly in: RegExp;
  readonly steps: readonly string[];
}
const EXCEPTIONS: readonly Exception[] = [
  {
    because: "it goes by the index, and no further than a page is full",
    in: /^SELECT \* FROM events WHERE .* ORDER BY at DESC, id DESC LIMIT/,
    steps: [
      "SEARCH events USING INDEX events_by_owner (owner=?",
      "SEARCH events USING INDEX events_by_time (at>?)",
      "SCAN events USING INDEX events_by_time",
    ],
  },
  {
    because: "likewise",
    in: /FROM machines WHERE destroyed_at IS NOT NULL AND .* ORDER BY destroyed_at DESC, uid LIMIT/s,
    steps: [
      "SEARCH machines USING INDEX machines_by_owner_ending (owner=?",
      "SEARCH machines USING INDEX machines_by_ending (destroyed_at>?)",
      "SCAN machines USING INDEX machines_by_ending",
    ],
  },
  {
    because: "likewise, and live rows beside it",
    in: /^SELECT .* FROM \(SELECT \* FROM machines .* UNION ALL SELECT \* FROM \(.* LIMIT \?\)\) ORDER BY/s,
    steps: ["USE TEMP B-TREE FOR ORDER BY"],
  },
  {
    because: "likewise",
    in: /^SELECT \* FROM tokens ORDER BY created_at DESC, id LIMIT/,
    steps: ["SCAN tokens USING INDEX tokens_by_time"],
  },
  { because: "likewise", in: /^SELECT \* FROM sweeps ORDER BY id DESC LIMIT/, steps: ["SCAN sweeps"] },
  {
    because: "it goes by the index, and no further than the last",
    in: /^SELECT \*(, .* AS is_joining)? FROM (machines|resources)\s+WHERE rowid = coalesce/s,
    steps: [
      "SEARCH machines USING INDEX machines_by_ended_name (owner=? AND name=?)",
      "SEARCH resources USING INDEX resources_by_ended_name (kind=? AND owner=? AND name=?)",
    ],
  },
  {
    because: "likewise",
    in: /FROM machines AS last WHERE last\.rowid = \(SELECT rowid FROM machines\s.* ORDER BY requested_at DESC LIMIT 1\)/s,
    steps: ["SEARCH machines USING INDEX machines_by_ended_name (owner=? AND name=?)"],
  },
  {
    because: "one machine's events: it lives a day or so, and an end that was asked for is asked for once",
    in: /^INSERT INTO events|^SELECT \* FROM events WHERE .*\buid = \?/,
    steps: [
      "SEARCH asked USING INDEX events_by_uid (uid=?)",
      "SEARCH events USING INDEX events_by_uid (uid=?)",
      "USE TEMP B-TREE FOR ORDER BY",
    ],
  },
  {
    because: "what one machine uses: the provider takes no more than 18",
    in: /\bresource_uses\b/,
    steps: [
      "SEARCH resource_uses USING COVERING INDEX resource_uses_by_machine (machine_uid=?",
      "SEARCH other USING COVERING INDEX resource_uses_by_machine (machine_uid=?",
    ],
  },
  {
    because: "uses are forgotten within an hour of their machine's end",
    in: /FROM resource_uses JOIN machines ON/,
    steps: ["SEARCH resource_uses USING PRIMARY KEY (resource_uid=?)", "USE TEMP B-TREE FOR ORDER BY"],
  },
  { because: "likewise: here", in: /^DELETE FROM resource_uses WHERE \(?EXISTS/, steps: ["SCAN resource_uses"] },
  {
    because: "what is over, which it deletes",
    in: /^DELETE FROM tombstones/,
    steps: ["SEARCH tombstones USING COVERING INDEX tombstones_by_end (until<?)"],
  },
  {
    because: "it goes by the index, and no further than a page is full",
    in: /^SELECT \* FROM deliveries WHERE .* ORDER BY received_at DESC, uid DESC LIMIT/,
    steps: [
      "SEARCH deliveries USING INDEX deliveries_by_hook (hook=?",
      "SCAN deliveries USING INDEX deliveries_by_time",
    ],
  },
  {
    because: "what is old, which it deletes, so much of it",
    in: /^DELETE FROM (machines|events|sweeps|resources|tokens|deliveries|hook_ranks|charges)\b/,
    steps: [
      "SEARCH machines USING INDEX machines_by_ending (destroyed_at<?)",
      "SEARCH machines USING COVERING INDEX machines_by_ending (destroyed_at<?)",
      "SEARCH events USING INDEX events_by_time (at<?)",
      "SEARCH events USING COVERING INDEX events_by_time (at<?)",
      "SCAN sweeps",
      "SEARCH resources USING INDEX resources_by_ending (deleted_at<?)",
      "SEARCH tokens USING INDEX tokens_by_end (expires_at<?)",
      "SEARCH tokens USING COVERING INDEX tokens_by_end (expires_at<?)",
      "SEARCH deliveries USING INDEX deliveries_by_time (received_at<?)",
      "SEARCH hook_ranks USING COVERING INDEX hook_ranks_by_end (until<?)",
      "SEARCH charges USING COVERING INDEX charges_by_day (period<?)",
      "SEARCH charges USING INDEX charges_by_day (period<?)",
    ],
  },
  {
    because: "likewise, with what was gone",
    in: /^DELETE FROM resource_uses WHERE \(?resource_uid IN \(SELECT uid FROM resources WHERE deleted_at/,
    steps: [
      "SEARCH resource_uses USING PRIMARY KEY (resource_uid=?)",
      "SEARCH resources USING INDEX resources_by_ending (deleted_at<?)",
    ],
  },
  {
    because: "likewise, with what ended",
    in: /^DELETE FROM resource_uses WHERE \(?machine_uid IN \(SELECT uid FROM machines WHERE destroyed_at/,
    steps: [
      "SEARCH resource_uses USING COVERING INDEX resource_uses_by_machine (machine_uid=?",
      "SEARCH machines USING INDEX machines_by_ending (destroyed_at<?)",
    ],
  },
  {
    because: "likewise, once its days are in their month",
    in: /^INSERT INTO charges .* SELECT substr\(period, 1, 7\)/s,
    steps: [
      "SEARCH charges USING COVERING INDEX charges_by_day (period<?)",
      "SEARCH charges USING INDEX charges_by_day (period<?)",
      "USE TEMP B-TREE FOR GROUP BY",
    ],
  },
  {
    because: "the sums of one month are what is asked for",
    in: /FROM charges WHERE period >= \?/,
    steps: ["SEARCH charges USING PRIMARY KEY (period>? AND period<?", "USE TEMP B-TREE FOR GROUP BY"],
  },
  {
    because: "the rows that one machine had: it is seldom found again",
    in: /FROM machines AS before WHERE before\.provider_id = /,
    steps: ["SEARCH before USING INDEX machines_by_ended_id (provider_id=?)"],
  },
  {
    because: "a month has one row of each account",
    in: /FROM charged_months AS booked/,
    steps: ["SEARCH booked USING PRIMARY KEY (month=?)"],
  },
  {
    because: "tokens that were ordered under one key, at most one a day",
    in: /\bidempotency_until >/,
    steps: ["SEARCH tokens USING INDEX tokens_by_idempotency (idempotency_sha256=?)"],
  },
];

interface Index {
  readonly table: string;
  /** How many columns a search must hold to a value to find one row; null where that may be many. */
  readonly key: number | null;
}
interface Schema {
  readonly indexes: ReadonlyMap<string, Index>;
  readonly tables: ReadonlySet<string>;
}

const sent = new Set<string>();
const sound = new Set<string>();

/** A statement as every sweep sends it: each names the number of its lock. */
const ofAnySweep = (text: string): string => text.replaceAll(/\bfence = \d+/g, "fence = 0");

/** The same database; what is prepared is judged after the test. */
export const watched = (db: D1Database): D1Database =>
  new Proxy(db, {
    get: (target, key: keyof D1Database) =>
      key === "prepare"
        ? (text: string) => {
            const any = ofAnySweep(text);
            if (!sound.has(any)) sent.add(any);
            return target.prepare(text);
          }
        : target[key].bind(target),
  });

/** Throws where a statement that was sent since it was asked last reads more with every row of the past. */
export async function refuseScans(db: D1Database): Promise<void> {
  const scans = await takeScans(db);
  if (scans.length > 0)
    throw new Error(`read from end to end, or sorted (docs/decisions/indexes.md): ${scans.join("\n")}`);
}

/** What is wrong with the statements that were sent since somebody asked last, which this forgets. */
export async function takeScans(db: D1Database): Promise<readonly string[]> {
  if (sent.size === 0) return [];
  const schema = await schemaOf(db);
  const found: string[] = [];
  for (const text of sent) {
    const problems = problemsOf(text, await planOf(db, text), schema);
    if (problems.length === 0) sound.add(text);
    else found.push(`${problems.join("; ")} <- ${text.replaceAll(/\s+/g, " ")}`);
  }
  sent.clear();
  return found;
}

/** The steps of a plan that cost more with every row of history. */
function problemsOf(text: string, plan: readonly string[], schema: Schema): string[] {
  const aliases = new Map(
    [...text.matchAll(/\b(\w+) AS (\w+)/g)]
      .map(([, table = "", alias = ""]) => [alias, table] as const)
      .filter(([, table]) => schema.tables.has(table)),
  );
  const subqueries = new Set(plan.flatMap((line) => /^(?:CO-ROUTINE|MATERIALIZE) (\S+)/.exec(line)?.[1] ?? []));
  const isFew = (line: string): boolean => {
    const name = /^(?:SCAN|SEARCH) (?<name>\S+)/.exec(line)?.groups?.["name"];
    if (name === undefined || / VIRTUAL TABLE | CONSTANT ROW/.test(line)) return true;
    const table = schema.tables.has(name) ? name : (aliases.get(name) ?? name);
    // What a subquery has selected is judged there.
    if (SMALL.has(table) || subqueries.has(name)) return true;
    return isOneRow(line, table, schema) || OF_FEW[indexIn(line) ?? ""] !== undefined;
  };
  const many = plan.filter((line) => !isFew(line));
  const sorts = many.length === 0 ? [] : plan.filter((line) => /^USE TEMP B-TREE (?!FOR LAST TERM)/.test(line));
  const isExcepted = (line: string) =>
    EXCEPTIONS.some((one) => one.in.test(text) && one.steps.some((step) => line.startsWith(step)));
  return [...many, ...sorts].filter((line) => !isExcepted(line));
}

const indexIn = (line: string): string | undefined => / INDEX (?<index>\w+)/.exec(line)?.groups?.["index"];

/** Whether a search finds one row at most, or one for each value of a list. */
function isOneRow(line: string, table: string, { indexes }: Schema): boolean {
  const name = / USING PRIMARY KEY /.test(line) ? `sqlite_autoindex_${table}_1` : (indexIn(line) ?? "");
  const held = [...line.matchAll(/\b\w+=\?/g)].length;
  return / USING INTEGER PRIMARY KEY \(rowid=\?\)/.test(line) || indexes.get(name)?.key === held;
}

/** The plan of a statement; what is bound is no matter of it. */
async function planOf(db: D1Database, text: string): Promise<string[]> {
  const numbers = [...text.matchAll(/\?(\d*)/g)].map(([, number], index) => Number(number || index + 1));
  const nothing = Array.from({ length: Math.max(0, ...numbers) }, () => null);
  const { results } = await db
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .bind(...nothing)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

async function schemaOf(db: D1Database): Promise<Schema> {
  const { results } = await db
    .prepare(
      `SELECT made.name AS "table", list.name AS name,
         iif(list."unique", (SELECT count(*) FROM pragma_index_info(list.name)), NULL) AS "key"
       FROM sqlite_schema AS made LEFT JOIN pragma_index_list(made.name) AS list
       WHERE made.type = 'table' AND made.name NOT LIKE '\\_cf%' ESCAPE '\\'`,
    )
    .all<{ table: string; name: string | null; key: number | null }>();
  return {
    indexes: new Map(results.map(({ name, ...index }) => [name ?? "", index])),
    tables: new Set(results.map(({ table }) => table)),
  };
}
