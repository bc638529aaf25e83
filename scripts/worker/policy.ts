// `npm run policy`: which policy takes the claims of a token, whose what it makes would be, and why each other does not.
import { existsSync, readFileSync } from "node:fs";
import { decodeJwt } from "jose";
import * as z from "zod";
import { claimsThatCount, judgeClaims, shownClaim, valuesOf, type Claims } from "../../src/auth/claims.ts";
import type { Issuer } from "../../src/auth/issuers.ts";
import { identifyClaims, isJwt } from "../../src/auth/oidc.ts";
import type { Policy } from "../../src/auth/policy.ts";
import { formOf } from "../../src/auth/token-form.ts";
import { pasted } from "../../src/config.ts";
import { partsIn, verifyDeployment } from "../../src/deployment.ts";
import { loadConfiguration } from "../configuration.ts";
import { readVars } from "../vars.ts";

const USAGE = "usage: npm run -s policy -- <claims.json | ->";
const HELP = `${USAGE}

Tells what the token of a CI job says, which policy of mayfly.config.ts takes it, and why each other does not.

  claims.json   a file with the claims as a JSON object, \`iss\` among them, or with the token itself
  -             the same from standard input, where neither npm nor a list of processes shows it:
                printf %s "$TOKEN" | npm run -s policy -- -

A token is decoded, not verified. Whether it is made for here is told where that is known: by OIDC_AUDIENCE in the environment, else in
[vars] of wrangler.toml, or by the issuer's entry.
POLICIES and ISSUERS in the environment, as JSON, stand in place of those of the file, as under npm start.

Exit code: 0 = a policy takes it, 1 = it would be refused, 2 = the input cannot be used.`;

const TAKEN = 0;
const NOT_TAKEN = 1;
const BAD_INPUT = 2;

const claimsShape = z.looseObject(
  { iss: z.string("`iss` must be there: the url of the issuer, as https://token.actions.githubusercontent.com") },
  "must be a JSON object of claims",
);

type Read = { claims: z.output<typeof claimsShape>; isToken: boolean } | { mistake: string };

/** The claims that are given, or what is wrong with them: never their text, which may be a secret. */
async function read(input: string): Promise<Read> {
  if (input === "-") return readText(readFileSync(0, "utf8").trim(), "standard input");
  if (existsSync(input)) return readText(readFileSync(input, "utf8").trim(), input);
  const isSecret = isJwt(input) || (await formOf(input)) !== "other";
  return {
    mistake: isSecret
      ? "a token goes to standard input: others can see what a command is given"
      : "there is no such file",
  };
}

async function readText(text: string, from: string): Promise<Read> {
  if ((await formOf(text)) !== "other")
    return { mistake: "a minted token says nothing by itself: GET /v1/whoami with it tells what it may do" };
  const isToken = isJwt(text);
  try {
    const json: unknown = isToken ? decodeJwt(text) : JSON.parse(text);
    const { success, data, error } = claimsShape.safeParse(json);
    return success ? { claims: data, isToken } : { mistake: `${from}: ${error.issues[0]?.message}` };
  } catch {
    return { mistake: isToken ? `${from}: the token cannot be decoded` : `${from} has neither a token nor JSON` };
  }
}

/** Prints text of whoever made the token without what a terminal would obey. */
const say = (text: string, print = console.log): void => print(text.replaceAll(/\p{Cc}/gu, "\u{FFFD}"));

async function judge(claims: Claims & { iss: string }): Promise<number> {
  const given = { ...(await loadConfiguration()), ...partsIn(process.env, true) };
  const { policies, issuers } = await verifyDeployment(given, true);
  const issuer = issuers.find(({ url }) => url === claims.iss);
  if (issuer === undefined) {
    sayClaims(claims, Object.keys(claims));
    say("no: no issuer has this `iss` as its url");
    for (const { name, url } of issuers) say(`  ${name} has ${url}`);
    return NOT_TAKEN;
  }
  sayClaims(claims, ["iss", "aud", ...Object.keys(claimsThatCount(policies, issuer, claims))]);
  say(`policies for ${issuer.name}:`);
  const caller = await identifyClaims(issuer, claims, policies);
  sayPolicies(policies, caller.ok ? caller.principal.policy : null, issuer, claims);
  const misled = await faultInAudience(issuer, claims);
  if (!caller.ok || misled !== null) {
    say(`no: ${caller.ok ? misled : caller.refusal.message}`);
    return NOT_TAKEN;
  }
  const { policy, owner, account } = caller.principal;
  say(`yes: policy ${policy.name}, owner ${owner}, account ${account}`);
  return TAKEN;
}

/** What a token says, and what policies are written from. */
function sayClaims(claims: Claims, names: readonly string[]): void {
  say("claims:");
  for (const name of new Set(names)) {
    const value = shownClaim(claims, name);
    if (value !== null) say(`  ${name}: ${value}`);
  }
}

/** Why a token is refused whatever the policies say; null where it is not, or where nobody knows. */
async function faultInAudience({ audience, name }: Issuer, claims: Claims): Promise<string | null> {
  const said = valuesOf(claims, "aud");
  if (said.length === 0) return null;
  const wanted = audience ?? pasted(process.env, "OIDC_AUDIENCE") ?? pasted(await readVars(), "OIDC_AUDIENCE");
  if (typeof wanted === "string")
    return said.includes(wanted) ? null : `a token of ${name} must be made for ${wanted} (\`aud\`)`;
  say("for whom it is made is not judged: OIDC_AUDIENCE is set neither in wrangler.toml nor in the environment");
  return null;
}

function sayPolicies(policies: readonly Policy[], taken: Policy | null, issuer: Issuer, claims: Claims): void {
  const judgements = new Map(judgeClaims(policies, issuer, claims).map((one) => [one.policy, one]));
  for (const policy of policies) {
    const judgement = judgements.get(policy);
    if (judgement === undefined)
      say(`  ${policy.name}: not for ${issuer.name}, but for ${policy.issuer ?? "minted tokens"}`);
    else if (judgement.failed !== null) {
      const { claim, value, wanted } = judgement.failed;
      say(`  ${policy.name}: \`${claim}\` is ${value ?? "missing"}, and must be ${wanted}`);
    } else say(`  ${policy.name}: fits${taken !== null && policy !== taken ? `, but ${taken.name} comes first` : ""}`);
  }
}

async function main(args: readonly string[]): Promise<number> {
  const [input, ...more] = args;
  if (input === "--help" || input === "-h") {
    console.log(HELP);
    return TAKEN;
  }
  const given = input === undefined || more.length > 0 ? { mistake: "one thing must be given" } : await read(input);
  if ("mistake" in given) {
    say(given.mistake, console.error);
    console.error(USAGE);
    return BAD_INPUT;
  }
  if (given.isToken) say("a token: decoded, not verified");
  return judge(given.claims);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = BAD_INPUT;
}
