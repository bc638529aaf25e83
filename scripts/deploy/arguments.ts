// What `npm run deploy` may be told.
import { parseArgs } from "node:util";
import { DURATION_RULE, parseDuration } from "../../src/machine/duration.ts";

export interface Arguments {
  /** Carries the plan out without asking. */
  readonly yes: boolean;
  /** Only says what differs. */
  readonly check: boolean;
  /** Secrets that are set though they are there. */
  readonly replace: readonly string[];
  /** How long health is waited for. */
  readonly waitMs: number;
}

export const USAGE = `npm run deploy -- [--yes | --check] [--replace HCLOUD_TOKEN|ADMIN_TOKEN] [--wait 20m]
  --yes      carries the plan out without asking
  --check    changes nothing, says what differs, and fails if anything does
  --replace  sets this secret anew though it is there; may be said more than once
  --wait     how long a good sweep and green health are waited for, at most`;

/** Reads the command line; throws, in a sentence, where it cannot be followed. */
export function readArguments(words: readonly string[]): Arguments {
  const { values } = parse(words);
  const replace = values.replace ?? [];
  if (replace.includes("INSTALLATION"))
    throw new Error(
      "INSTALLATION is never replaced: what carries the old word would be nobody's, and never be destroyed",
    );
  if (values.yes === true && values.check === true)
    throw new Error("--check changes nothing, so there is no yes to say");
  const waitMs = parseDuration(values.wait ?? "20m");
  if (waitMs === null) throw new Error(`--wait ${DURATION_RULE}`);
  return { yes: values.yes ?? false, check: values.check ?? false, replace, waitMs };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        yes: { type: "boolean" },
        check: { type: "boolean" },
        replace: { type: "string", multiple: true },
        wait: { type: "string" },
      },
    });
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\n${USAGE}`, { cause });
  }
}
