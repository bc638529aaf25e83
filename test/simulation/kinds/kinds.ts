/** All kinds of histories. */
import { CALENDAR } from "./calendar.ts";
import { CROWD } from "./crowd.ts";
import type { Kind } from "./kind.ts";
import type { KindName } from "./shares.ts";
import { SMALL } from "./small.ts";

export const KINDS: Readonly<Record<KindName, Kind>> = { small: SMALL, crowd: CROWD, calendar: CALENDAR };
