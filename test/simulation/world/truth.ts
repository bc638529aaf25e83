/** What the provider really holds, and whose it is: the simulator's own books, which mayfly never sees. */
import { labelTime } from "../../../src/machine/age.ts";
import { LABEL, uidIn } from "../../../src/machine/labels.ts";
import type { ServerState, State } from "../../simulator/simulator.ts";

export const labelsOf = ({ labels }: Pick<ServerState, "labels">) => labels ?? {};

/** What one installation is called later on begins with what it was called first. */
const MOVED = ".moved-";
export const movedName = (installation: string, times: number): string =>
  times === 0 ? installation : `${installation}${MOVED}${times}`;
export const firstName = (installation: string): string => installation.split(MOVED)[0] ?? installation;

/** Whether something is an installation's, under whichever of its names. */
export const isOf = (server: Pick<ServerState, "labels">, installation: string): boolean =>
  labelsOf(server)[LABEL.managed] === "true" && firstName(labelsOf(server)[LABEL.installation] ?? "") === installation;

export const firewallsOf = ({ public_net: { firewalls } }: Pick<ServerState, "public_net">): readonly number[] =>
  firewalls.map(({ id }) => id);

/** Ids of firewalls and networks that servers use: once a person has made such a server his own, they are his to free. */
export const usedIds = ({ firewalls, networks }: State): ReadonlySet<number> =>
  new Set([
    ...firewalls.filter(({ applied_to }) => applied_to.length > 0).map(({ id }) => id),
    ...networks.filter(({ servers }) => servers.length > 0).map(({ id }) => id),
  ]);

/** The uids of those that are used, whose rows may not know their ids. */
export const usedUids = (state: State): ReadonlySet<string> => {
  const used = usedIds(state);
  return new Set(
    [...state.firewalls, ...state.networks].filter(({ id }) => used.has(id)).map(({ labels }) => uidIn(labels ?? {})),
  );
};

/** Everything beside servers that carries an installation's labels, by its path. */
export function resourcesOf({ firewalls, networks, ssh_keys }: State, installation: string): string[] {
  return Object.entries({ firewalls, networks, ssh_keys }).flatMap(([plural, all]) =>
    all.filter((one) => isOf(one, installation)).map(({ id }) => `/v1/${plural}/${id}`),
  );
}

export const uidOf = (server: ServerState): string => uidIn(labelsOf(server));

/** Whose and which: (owner, name) in one word. */
export const keyOf = (server: ServerState): string =>
  `${labelsOf(server)[LABEL.owner]}/${labelsOf(server)[LABEL.name]}`;

/** The end that the labels tell, unix milliseconds; never later than the latest that they allow. */
export const labelEnd = (server: ServerState): number =>
  Math.min(labelTime(labelsOf(server), LABEL.expires) ?? 0, labelTime(labelsOf(server), LABEL.max) ?? Infinity);

export const isProtected = ({ protection }: ServerState): boolean => protection?.delete ?? false;

export const createdAt = ({ created }: ServerState): number => Date.parse(created ?? "");
