// mayfly's own API, as its admin asks it.
import * as z from "zod";
import { causeOf, type Fetch } from "../deploy/health.ts";
import { jsonText } from "../json-text.ts";

/** What a call came to: what was asked for, or in a sentence why not. */
export type Told<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly status: number; readonly why: string };

/** Asks for one path. */
export type Api = <T>(path: string, shape: z.ZodType<T>) => Promise<Told<T>>;

const problem = z.looseObject({ code: z.string(), detail: z.string().optional(), next: z.string().optional() });
const TIMEOUT_MS = 30_000;

export function createApi(url: string, token: string, fetch: Fetch): Api {
  return async (path, shape) => {
    let status: number;
    let text: string;
    try {
      const headers = { Authorization: `Bearer ${token}` };
      const response = await fetch(url + path, { headers, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
      [status, text] = [response.status, await response.text()];
    } catch (error) {
      return { ok: false, status: 0, why: `${path} is not answered (${causeOf(error)})` };
    }
    if (status !== 200) {
      const { data } = jsonText.pipe(problem).safeParse(text);
      const words = [data?.detail, data?.next].filter((part) => part !== undefined).join(" ");
      return {
        ok: false,
        status,
        why: `${path} is answered ${status}${data === undefined ? "" : ` ${data.code}: ${words}`}`,
      };
    }
    const read = jsonText.pipe(shape).safeParse(text);
    if (read.success) return { ok: true, value: read.data };
    return { ok: false, status, why: `${path} is answered in a way that this version does not know` };
  };
}
