/** All kinds of histories. */
import type { Kind } from "./kind.ts";
import type { KindName } from "./shares.ts";
import { CALLER } from "./caller.ts";
import { OPERATOR } from "./operator.ts";
import { SMALL } from "./small.ts";

export const KINDS: Readonly<Record<KindName, Kind>> = { small: SMALL, operator: OPERATOR, caller: CALLER };
