/** What the provider really holds, and whose it is: the simulator's own books, which mayfly never sees. */
import { labelTime } from "../../src/machine/age.ts";
import { LABEL, uidIn } from "../../src/machine/labels.ts";
import type { ServerState } from "../simulator/simulator.ts";

export const labelsOf = ({ labels }: Pick<ServerState, "labels">) => labels ?? {};

export const isOf = (server: ServerState, installation: string): boolean =>
  labelsOf(server)[LABEL.managed] === "true" && labelsOf(server)[LABEL.installation] === installation;

export const uidOf = (server: ServerState): string => uidIn(labelsOf(server));

/** Whose and which: (owner, name) in one word. */
export const keyOf = (server: ServerState): string =>
  `${labelsOf(server)[LABEL.owner]}/${labelsOf(server)[LABEL.name]}`;

/** The end that the labels tell, unix milliseconds; never later than the latest that they allow. */
export const labelEnd = (server: ServerState): number =>
  Math.min(labelTime(labelsOf(server), LABEL.expires) ?? 0, labelTime(labelsOf(server), LABEL.max) ?? Infinity);

export const isProtected = ({ protection }: ServerState): boolean => protection?.delete ?? false;

export const createdAt = ({ created }: ServerState): number => Date.parse(created ?? "");
