// `npm run policy`: which policy takes the claims of a token, whose what it makes would be, and why each other does not.
import { existsSync, readFileSync } from "node:fs";
import { decodeJwt } from "jose";
import * as z from "zod";
import { claimsThatCount, judgeClaims, valuesOf, type Claims } from "../../src/auth/claims.ts";
import type { Issuer } from "../../src/auth/issuers.ts";
import { identifyClaims, isJwt } from "../../src/auth/oidc.ts";
import type { Policy } from "../../src/auth/policy.ts";
import { partsIn, verifyDeployment } from "../../src/deployment.ts";
import { loadConfiguration } from "../configuration.ts";

const USAGE = "usage: npm run policy -- <claims.json | token>";
const HELP = `${USAGE}

Tells which policy of mayfly.config.ts takes the token of a CI job, and why each other does not. Where none does, it shows the claims
that one can be written from.

  claims.json   a file with the claims as a JSON object, \`iss\` among them
  token         the token itself; it is decoded, not verified

POLICIES and ISSUERS in the environment, as JSON, stand in place of those of the file, as under npm start.
With OIDC_AUDIENCE it also tells whether the token is made for that.

Exit code: 0 = a policy takes it, 1 = none does, 2 = the input cannot be used.`;

const TAKEN = 0;
const NOT_TAKEN = 1;
const BAD_INPUT = 2;

const claimsShape = z.looseObject(
  { iss: z.string("`iss` must be there: the url of the issuer, as https://token.actions.githubusercontent.com") },
  "must be a JSON object of claims",
);

/** The claims of a file or a token, or what is wrong with it: never its text, which may be a secret. */
function readClaims(input: string): { claims: z.output<typeof claimsShape> } | { mistake: string } {
  const isFile = existsSync(input);
  if (!isFile && !isJwt(input)) return { mistake: "what is given is neither a file nor a token" };
  const what = isFile ? input : "the token";
  try {
    const json: unknown = isFile ? JSON.parse(readFileSync(input, "utf8")) : decodeJwt(input);
    const { success, data, error } = claimsShape.safeParse(json);
    return success ? { claims: data } : { mistake: `${what}: ${error.issues[0]?.message}` };
  } catch {
    return { mistake: isFile ? `${what} cannot be read as JSON` : "the token cannot be decoded" };
  }
}

/** Prints text of whoever made the token without what a terminal would obey. */
const say = (text: string, print = console.log): void => print(text.replaceAll(/\p{Cc}/gu, "\u{FFFD}"));

async function judge(claims: Claims & { iss: string }): Promise<number> {
  const given = { ...(await loadConfiguration()), ...partsIn(process.env, true) };
  const { policies, issuers } = await verifyDeployment(given, true);
  const issuer = issuers.find(({ url }) => url === claims.iss);
  if (issuer === undefined) {
    say(`no issuer has the url ${claims.iss}`);
    for (const { name, url } of issuers) say(`  ${name} has ${url}`);
    return NOT_TAKEN;
  }
  say(`issuer: ${issuer.name}`);
  sayAudience(issuer, claims);
  const caller = await identifyClaims(issuer, claims, policies);
  const taken = caller.ok ? caller.principal.policy : null;
  sayPolicies(policies, taken, issuer, claims);
  if (!caller.ok) {
    say(`no: ${caller.refusal.message}`);
    say("claims that a policy can be written from:");
    for (const [claim, value] of Object.entries(claimsThatCount(policies, issuer, claims))) say(`  ${claim}: ${value}`);
    return NOT_TAKEN;
  }
  say(
    `yes: policy ${caller.principal.policy.name}, owner ${caller.principal.owner}, account ${caller.principal.account}`,
  );
  return TAKEN;
}

function sayAudience({ audience, name }: Issuer, claims: Claims): void {
  const wanted = audience ?? (process.env["OIDC_AUDIENCE"] || null);
  const given = valuesOf(claims, "aud");
  if (wanted !== null && given.length > 0 && !given.includes(wanted))
    say(
      `audience: ${given.join(", ")}. A token of ${name} is refused unless it is ${wanted}, whatever the policies say`,
    );
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
  const read = input === undefined || more.length > 0 ? { mistake: "one thing must be given" } : readClaims(input);
  if ("mistake" in read) {
    say(read.mistake, console.error);
    console.error(USAGE);
    return BAD_INPUT;
  }
  if (!existsSync(input ?? "")) say("token: decoded, not verified");
  return judge(read.claims);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = BAD_INPUT;
}
