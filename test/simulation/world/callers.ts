/**
 * Who calls in a history: the admin for somebody, minted tokens under policies of their own, and CI jobs by their forges' word.
 */
import { env } from "cloudflare:workers";
import * as z from "zod";
import type { Configuration } from "../../../src/deployment.ts";
import { createIssuer, GITHUB, githubClaims, GITLAB, gitlabClaims, type TestIssuer } from "../../auth/issuer.ts";
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

/** And these: by a token that ends soon, by another run of the same repository, and by any pipeline of a project. */
export const CALLERS = [...OWNERS, "tok.eve", "gh.74.9002", "gl.e7be96a5.20.forge"] as const;
export type Caller = (typeof CALLERS)[number];
/** And the admin for nobody. */
export type Anybody = Caller | Owner | "admin";

/** What a policy forbids, as its entry says. */
export const TIGHT = { needs_firewall: true, cloud_init: false, server_types: ["cx23"], longest: "1h" } as const;

export const CONFIGURATION: Configuration = {
  ...HOOKED,
  policies: [
    { name: "narrow", longest: "2h", account: "policy", ...OF_POLICY.narrow },
    { name: "ci", issuer: "github", claims: { repository_id: 74, ref: "refs/heads/*" }, ...OF_POLICY.ci },
    { name: "tight", ...TIGHT, server_types: [...TIGHT.server_types] },
    { name: "forge", issuer: "gitlab", claims: { project_id: 20 }, owner: "project", may: ["machines", "networks"] },
  ],
};

/** The longest lease that a caller's policy allows, milliseconds; null = what all may have. */
export const LONGEST: Readonly<Record<Anybody, number | null>> = {
  admin: null,
  "tok.ann": null,
  "tok.cy": null,
  "tok.dee": null,
  "tok.bob": 2 * HOUR,
  "tok.eve": HOUR,
  "gh.74.9001": null,
  "gh.74.9002": null,
  "gl.e7be96a5.20.forge": null,
};

/** Keys are dear to make, and no history changes them. */
const made = new Map<string, Promise<TestIssuer>>();
export function issuerAt(url: string): Promise<TestIssuer> {
  const known = made.get(url) ?? createIssuer({ url, alg: "ES256" });
  made.set(url, known);
  return known;
}

const minted = z.object({ token: z.object({ id: z.string(), secret: z.string(), expires_at: z.iso.datetime() }) });

/** Whose tokens are minted, with what. */
const ORDERS = {
  "tok.bob": { owner: "bob", policy: "narrow" },
  "tok.eve": { owner: "eve", policy: "tight", expires_in: "40m" },
} as const;
const isMinted = (who: string): who is keyof typeof ORDERS => who in ORDERS;

interface Minted {
  readonly id: string;
  readonly secret: string;
  /** From when on it is surely not taken, unix milliseconds. */
  over: number;
}

export interface Callers {
  /** What somebody sends as its bearer token. */
  tokenOf(who: Anybody, now: number): Promise<string>;
  /** Whether that surely must not be taken any more. */
  isOver(who: Anybody, now: number): boolean;
  /** The id of the token that somebody holds, if it is a minted one. */
  tokenIdOf(who: Anybody): string | undefined;
  /** From now on what is minted until now is void: of one, or of all. */
  end(who: Caller | "all", now: number): void;
  /** Nobody knows any more what was revoked: the database is another. */
  forget(): void;
  /** What it does where that is not taken any more, as after the loss of D1: answers whether there is another now. */
  renew(who: Anybody, mayfly: Installation, circumstances: Circumstances): Promise<boolean>;
  /** All that was ever sent. */
  readonly secrets: ReadonlySet<string>;
}

export function openCallers(): Callers {
  const secrets = new Set<string>();
  const held = new Map<string, Minted>();
  const never = { id: "tok_none", secret: "mayfly_that-was-never-minted", over: Infinity };
  const tokens: Record<Anybody, (now: number) => Promise<string>> = {
    admin: async () => env.ADMIN_TOKEN,
    "tok.ann": async () => env.ADMIN_TOKEN,
    "tok.cy": async () => env.ADMIN_TOKEN,
    "tok.dee": async () => env.ADMIN_TOKEN,
    "tok.bob": async () => (held.get("tok.bob") ?? never).secret,
    "tok.eve": async () => (held.get("tok.eve") ?? never).secret,
    "gh.74.9001": async (now) => (await issuerAt(GITHUB)).sign(githubClaims(), now),
    "gh.74.9002": async (now) => (await issuerAt(GITHUB)).sign(githubClaims({ run_id: "9002" }), now),
    "gl.e7be96a5.20.forge": async (now) => (await issuerAt(GITLAB)).sign(gitlabClaims(), now),
  };
  return {
    secrets,
    async tokenOf(who, now) {
      const token = await tokens[who](now);
      secrets.add(token);
      return token;
    },
    isOver: (who, now) => now >= (held.get(who)?.over ?? Infinity),
    tokenIdOf: (who) => held.get(who)?.id,
    end(who, now) {
      for (const [owner, one] of held) if (who === "all" || who === owner) one.over = Math.min(one.over, now);
    },
    forget() {
      for (const one of held.values()) one.over = Infinity;
    },
    async renew(who, mayfly, circumstances) {
      if (!isMinted(who)) return false;
      const request = { method: "POST", path: "/v1/tokens", body: ORDERS[who], token: env.ADMIN_TOKEN };
      const answer = await mayfly.send({ ...circumstances, mishap: null }, request);
      const parsed = minted.safeParse(JSON.parse(answer?.text ?? "null"));
      if (!parsed.success) return false;
      const { id, secret, expires_at } = parsed.data.token;
      held.set(who, { id, secret, over: Date.parse(expires_at) });
      return true;
    },
  };
}
