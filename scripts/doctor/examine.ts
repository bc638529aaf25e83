// All that is looked at, in the order in which one thing needs another.
import { seeHealth, type Fetch } from "../deploy/health.ts";
import type { Wrangler } from "../deploy/wrangler.ts";
import { accountFindings, type Checkout } from "./account.ts";
import { aliveFindings } from "./alive.ts";
import { createApi } from "./api.ts";
import { bad, ok, type Finding } from "./finding.ts";
import { limitsFinding } from "./limits.ts";
import { callerFindings, offerFindings, sweepFindings } from "./inside.ts";

/** Who is to be examined, and with what. */
export interface Patient extends Checkout {
  readonly url: string;
  /** The admin's; empty where nobody gave one. */
  readonly token: string;
  readonly wrangler: Wrangler;
  readonly fetch: Fetch;
  readonly now: () => number;
}

/** Tells each finding once it is there. It changes nothing. */
export async function* examine(patient: Patient): AsyncGenerator<Finding> {
  const { url, token, fetch, now } = patient;
  const sentAt = now();
  const health = await seeHealth(url, fetch);
  if (typeof health === "string") {
    yield bad("reachable", `${url} ${health}. Is the address right? Is it deployed (npm run deploy -- --check)?`);
    return;
  }
  yield ok("reachable", url);
  yield* aliveFindings({ health, sentAt, answeredAt: now() });
  yield* await insideFindings(patient, token);
  yield limitsFinding(patient.toml);
  yield* await accountFindings(patient.wrangler, patient, url, fetch);
}

async function insideFindings({ url, fetch, now, toml }: Patient, token: string): Promise<Finding[]> {
  if (token === "") return [bad("token", "none was given: MAYFLY_TOKEN=<ADMIN_TOKEN> npm run doctor -- <url>")];
  const api = createApi(url, token, fetch);
  const { isAdmin, findings } = await callerFindings(api);
  if (!isAdmin) return findings;
  const plan = toml.vars["PLAN"] ?? "free";
  return [...findings, ...(await offerFindings(api, now())), ...(await sweepFindings(api, plan, now()))];
}
