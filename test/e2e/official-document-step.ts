// One call of the story in official-document-story.ts, and short ways to write it.
import type { Simulator } from "../simulator/simulator.ts";

/** One call of the story. */
export interface Step {
  what: string;
  method: string;
  /** Below `/v1`. */
  path: string;
  status: number;
  /** Text goes out as it is. */
  body?: unknown;
  /** Played before the call. */
  fate?: (sim: Simulator) => void;
  /** False: the call comes right after the one before it, while actions still run. */
  pause?: false;
  /** False: without a token. */
  token?: false;
}

export const get = (what: string, path: string, status = 200): Step => ({ what, method: "GET", path, status });
export const post = (what: string, path: string, status: number, body?: unknown): Step => {
  return { what, method: "POST", path, status, body };
};
export const put = (what: string, path: string, status: number, body: unknown): Step => {
  return { what, method: "PUT", path, status, body };
};
export const del = (what: string, path: string, status: number): Step => ({ what, method: "DELETE", path, status });
