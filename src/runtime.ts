import type { Log } from "./log.ts";

/** What is real outside this code, passed in by the composition root and by tests. */
export interface Runtime {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
  /** `count` unpredictable bytes. */
  readonly randomBytes: (count: number) => Uint8Array;
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>;
  /** Lets that many milliseconds pass. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
}
