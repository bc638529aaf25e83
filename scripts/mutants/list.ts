/** All deliberate bugs. */
import { JUDGING } from "./judging.ts";
import { LENDING } from "./lending.ts";
import { MONEY } from "./money.ts";
import type { Mutant } from "./mutant.ts";
import { SWEEPING } from "./sweeping.ts";

export const MUTANTS: readonly Mutant[] = [...JUDGING, ...LENDING, ...SWEEPING, ...MONEY];
