/** All kinds of histories. */
import { CALENDAR } from "./calendar.ts";
import { CROWD } from "./crowd.ts";
import type { Kind } from "./kind.ts";
import type { KindName } from "./shares.ts";
import { CALLER } from "./caller.ts";
import { OPERATOR } from "./operator.ts";
import { SMALL } from "./small.ts";

export const KINDS: Readonly<Record<KindName, Kind>> = {
  small: SMALL,
  crowd: CROWD,
  calendar: CALENDAR,
  operator: OPERATOR,
  caller: CALLER,
};
