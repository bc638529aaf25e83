import type { Query } from "./statements.ts";

type Rows = readonly unknown[];

/** Answers that came before they were asked for. */
export interface Ahead {
  keep(asked: Query, rows: Rows): void;
  /** What was kept for a query, and is from here on not; undefined where nothing is. */
  take(asked: Query): Rows | undefined;
  /** Nothing is kept any more. */
  forget(): void;
}

/** Of one request: nothing of it is known to another. */
export function openAhead(): Ahead {
  const kept = new Map<string, Rows>();
  const keyOf = ({ text, params }: Query): string => JSON.stringify([text, params]);
  return {
    keep: (asked, rows) => void kept.set(keyOf(asked), rows),
    take: (asked) => {
      if (kept.size === 0) return undefined;
      const key = keyOf(asked);
      const rows = kept.get(key);
      kept.delete(key);
      return rows;
    },
    forget: () => kept.clear(),
  };
}
