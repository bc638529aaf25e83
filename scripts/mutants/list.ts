/** All deliberate bugs. */
import { ANSWERING } from "./answering.ts";
import { ASKING } from "./asking.ts";
import { CALLING } from "./calling.ts";
import { COUNTING } from "./counting.ts";
import { FRESH } from "./fresh.ts";
import { HOOKS } from "./hooks.ts";
import { JUDGING } from "./judging.ts";
import { LEDGER } from "./ledger.ts";
import { LENDING } from "./lending.ts";
import { LIMITS } from "./limits.ts";
import { MONEY } from "./money.ts";
import type { Mutant } from "./mutant.ts";
import { OFFERING } from "./offering.ts";
import { PROMISING } from "./promising.ts";
import { READING } from "./reading.ts";
import { SIBLINGS } from "./siblings.ts";
import { SPENDING } from "./spending.ts";
import { SWEEPING } from "./sweeping.ts";
import { TELLING } from "./telling.ts";

export const MUTANTS: readonly Mutant[] = [
  ...ANSWERING,
  ...ASKING,
  ...CALLING,
  ...COUNTING,
  ...FRESH,
  ...HOOKS,
  ...JUDGING,
  ...LEDGER,
  ...LENDING,
  ...LIMITS,
  ...MONEY,
  ...OFFERING,
  ...PROMISING,
  ...READING,
  ...SIBLINGS,
  ...SPENDING,
  ...SWEEPING,
  ...TELLING,
];
