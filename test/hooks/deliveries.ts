import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import * as z from "zod";
import type { Mayfly } from "../mayfly.ts";

const shown = z.object({
  deliveries: z.array(
    z.looseObject({
      hook: z.string(),
      do: z.string(),
      name: z.string(),
      machine: z.string().nullable(),
      state: z.string(),
      reason: z.string().nullable(),
      attempts: z.int(),
    }),
  ),
});

/** What `GET /v1/hooks` shows, newest first. */
export const listed = async (mayfly: Mayfly, query = "") =>
  shown.parse((await mayfly.send("GET", `/v1/hooks${query}`)).body).deliveries;

/** The labels of the machines that there are at the provider. */
export const labels = (mayfly: Mayfly): Record<string, string>[] =>
  mayfly.simulator.state().servers.map((one) => one.labels ?? {});
/** What they are called by whoever has them. */
export const names = (mayfly: Mayfly) => labels(mayfly).map((one) => one["mayfly-name"]);

/** Sends a request without waiting for what goes on behind its answer; `rest` is that. */
export async function answerOf(mayfly: Mayfly, path: string, body: string, headers: Record<string, string>) {
  const context = createExecutionContext();
  const response = await mayfly.app.request(path, { method: "POST", headers, body }, mayfly.bindings, context);
  return { status: response.status, text: await response.text(), rest: () => waitOnExecutionContext(context) };
}
