/** What a look at a machine showed. */
export type Observed = "seen" | "not_found" | "identity_mismatch";

/** The last look at a machine. Times unix milliseconds. */
export interface Look {
  /** When the provider was asked. */
  readonly askedAt: number;
  /** When it last answered, and what; null where it never has. */
  readonly told: { readonly at: number; readonly observed: Observed } | null;
}

/** The last looks at machines, by their uids. */
export interface Looks {
  readonly last: (uid: string) => Look | null;
  readonly note: (uid: string, look: Look) => void;
}

/** More machines than these nobody asks for one by one. */
const MOST = 2000;

/**
 * Looks of one isolate. That a machine is as it was known is worth no write, and an isolate that does not know it asks once more; what is
 * remembered is therefore no more than when a look was made and what it showed. The oldest gives way.
 */
export function openLooks(): Looks {
  const looks = new Map<string, Look>();
  return {
    last: (uid) => looks.get(uid) ?? null,
    note(uid, look) {
      looks.delete(uid);
      looks.set(uid, look);
      const [oldest] = looks.keys();
      if (looks.size > MOST && oldest !== undefined) looks.delete(oldest);
    },
  };
}
