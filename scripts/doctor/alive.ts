// Whether mayfly answers, and whether its sweeps run: what anybody may see.
import type { HealthSeen } from "../deploy/health.ts";
import { bad, ok, warn, type Finding } from "./finding.ts";

/** As `/healthz` itself counts: three intervals. */
const LONGEST_SILENCE_MS = 180_000;
/** Tokens that end, and those of CI jobs, are judged by the server's clock. */
const MOST_APART_MS = 5_000;

/** What is asked first, and when by this machine's clock it was. Unix milliseconds. */
export interface Seen {
  readonly health: HealthSeen;
  readonly sentAt: number;
  readonly answeredAt: number;
}

export const aliveFindings = (seen: Seen): Finding[] => [...health(seen), cron(seen), clock(seen), installation(seen)];

function health({ health: { reasons } }: Seen): Finding[] {
  if (reasons.length === 0) return [ok("health", "green")];
  return reasons.map((reason) => bad("health", `${reason}. ${adviceFor(reason)}`));
}

/** By words that stand in the reason; what they mean at length, docs/how-it-fails.md tells. */
function adviceFor(reason: string): string {
  const [, advice] = ADVICE.find(([words]) => words.test(reason)) ?? [];
  return advice ?? "docs/how-it-fails.md says what it means";
}
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/no good sweep/, "See the line about cron"],
  [/INSTALLATION/, "Set INSTALLATION back, or list the old word in PREVIOUS_INSTALLATIONS"],
  [/the setting/, "Correct it in wrangler.toml, or as a secret, and run npm run deploy"],
  [/configuration/, "npm run configuration says what is wrong with mayfly.config.ts"],
  [/lacks more machines/, "POST /v1/holds/inventory/release once you know why"],
  [/another token/, "POST /v1/holds/credential/release if the token is of the same project; else set the old one back"],
  [/past the end|under way|inventory/, "GET /v1/sweeps says what keeps them; so do the lines below"],
];

function cron({ health: { lastGoodSweepAt, at }, answeredAt }: Seen): Finding {
  if (lastGoodSweepAt === null)
    return warn(
      "cron",
      "no sweep was good yet. After a first deploy cron may take 15 min to begin; later: is crons set in wrangler.toml, and is there a trigger left in the account?",
    );
  const silence = (at ?? answeredAt) - lastGoodSweepAt;
  const ago = `the last good sweep was ${Math.max(0, Math.round(silence / 1000))} s ago`;
  if (silence <= LONGEST_SILENCE_MS) return ok("cron", ago);
  return bad(
    "cron",
    `${ago}. Does it run (npx wrangler tail)? Is crons set in wrangler.toml? npm run deploy sets the trigger anew`,
  );
}

function clock({ health: { at }, sentAt, answeredAt }: Seen): Finding {
  if (at === null) return warn("clock", "the server does not tell its time, so that clocks cannot be compared");
  // It tells whole seconds, and was asked at some time between.
  const apart = at + 500 - (sentAt + answeredAt) / 2;
  const seconds = `${(Math.abs(apart) / 1000).toFixed(1)} s`;
  if (Math.abs(apart) <= MOST_APART_MS) return ok("clock", `${seconds} apart from this machine's`);
  return warn(
    "clock",
    `${seconds} ${apart > 0 ? "ahead of" : "behind"} this machine's: set this machine's clock (NTP)`,
  );
}

/** Health says where they differ. */
function installation({ health: { reasons } }: Seen): Finding {
  if (reasons.some((reason) => /INSTALLATION/.test(reason)))
    return bad(
      "installation",
      "it is not the one that the database remembers: what carries that word is not looked after",
    );
  return ok("installation", "the one that the database remembers");
}
