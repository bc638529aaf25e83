import * as z from "zod/mini";
import { Failure, type Runner } from "./runner.ts";

const answer = z.object({ value: z.string() });
const NO_TOKEN =
  "This job may not ask GitHub for a token. Give it `permissions: id-token: write`. A pull request from a fork never has one.";

/** A token to call mayfly with: the workflow's own word for one, else what GitHub signs for this job, anew for each call. */
export async function tokenFor(runner: Runner, audience: string): Promise<string> {
  const given = runner.input("token");
  if (given !== "") return given;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = "", ACTIONS_ID_TOKEN_REQUEST_TOKEN: request = "" } = runner.env;
  if (url === "" || request === "") throw new Failure(NO_TOKEN);
  const response = await fetch(`${url}&audience=${encodeURIComponent(audience)}`, {
    headers: { Authorization: `Bearer ${request}` },
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (response.status >= 500) throw new Error(`GitHub signs no token just now: ${response.status}`);
  if (!response.ok) throw new Failure(`GitHub signs no token for this job: ${response.status} ${text.slice(0, 200)}`);
  const { value } = answer.parse(JSON.parse(text));
  runner.mask(value);
  return value;
}
