/** All kinds of histories. */
import type { Kind } from "./kind.ts";
import { SMALL } from "./small.ts";

export const KINDS: readonly Kind[] = [SMALL];
