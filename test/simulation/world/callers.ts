/** Who calls in a history: the admin for somebody, a minted token under a policy of its own, and a CI job by its forge's word. */
import { env } from "cloudflare:workers";
import * as z from "zod";
import type { Configuration } from "../../../src/deployment.ts";
import { createIssuer, GITHUB, githubClaims, type TestIssuer } from "../../auth/issuer.ts";
import { HOOKED } from "../events.ts";
import type { Installation } from "./installation.ts";
import type { Circumstances } from "./invocation.ts";
import { OF_POLICY } from "./limits.ts";
import { HOUR } from "./settings.ts";

/** By the admin; by a minted token; by a job of that repository and run. */
export const OWNERS = ["tok.ann", "tok.bob", "gh.74.9001"] as const;
/** Others for whom the admin asks, bound by what all may have alone. */
export const MORE_OWNERS = ["tok.cy", "tok.dee"] as const;
export type Owner = (typeof OWNERS)[number] | (typeof MORE_OWNERS)[number];

/** What their policies allow at most, milliseconds; null = whatever all may. */
export const LONGEST: Readonly<Record<Owner, number | null>> = {
  "tok.ann": null,
  "tok.bob": 2 * HOUR,
  "gh.74.9001": null,
  "tok.cy": null,
  "tok.dee": null,
};

export const CONFIGURATION: Configuration = {
  ...HOOKED,
  policies: [
    { name: "narrow", longest: "2h", account: "policy", ...OF_POLICY.narrow },
    { name: "ci", issuer: "github", claims: { repository_id: 74, ref: "refs/heads/*" }, ...OF_POLICY.ci },
  ],
};

/** Keys are dear to make, and no history changes them. */
let made: Promise<TestIssuer> | undefined;
export const theIssuer = (): Promise<TestIssuer> => (made ??= createIssuer({ url: GITHUB, alg: "ES256" }));

const minted = z.object({ token: z.object({ secret: z.string() }) });

export interface Callers {
  /** What an owner sends as its bearer token. */
  tokenOf(owner: Owner, now: number): Promise<string>;
  /** What it does where that is not taken any more, as after the loss of D1: answers whether there is another now. */
  renew(owner: Owner, mayfly: Installation, circumstances: Circumstances): Promise<boolean>;
  /** All that was ever sent. */
  readonly secrets: ReadonlySet<string>;
}

export function openCallers(): Callers {
  const secrets = new Set<string>();
  let bobs = "mayfly_that-was-never-minted";
  const tokens: Record<Owner, (now: number) => Promise<string>> = {
    "tok.ann": async () => env.ADMIN_TOKEN,
    "tok.cy": async () => env.ADMIN_TOKEN,
    "tok.dee": async () => env.ADMIN_TOKEN,
    "tok.bob": async () => bobs,
    "gh.74.9001": async (now) => (await theIssuer()).sign(githubClaims(), now),
  };
  return {
    secrets,
    async tokenOf(owner, now) {
      const token = await tokens[owner](now);
      secrets.add(token);
      return token;
    },
    async renew(owner, mayfly, circumstances) {
      if (owner !== "tok.bob") return false;
      const body = { owner: "bob", policy: "narrow" };
      const request = { method: "POST", path: "/v1/tokens", body, token: env.ADMIN_TOKEN };
      const answer = await mayfly.send({ ...circumstances, mishap: null }, request);
      const parsed = minted.safeParse(JSON.parse(answer?.text ?? "null"));
      if (parsed.success) bobs = parsed.data.token.secret;
      return parsed.success;
    },
  };
}
