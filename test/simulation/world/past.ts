/** Machines as they were a minute ago. */
import type { ServerState, Simulator } from "../../simulator/simulator.ts";
import type { Clock } from "./provider.ts";
import { MINUTE } from "./settings.ts";

type Shown = Omit<ServerState, "user_data" | "ssh_keys">;
interface Moment {
  readonly at: number;
  readonly servers: ReadonlyMap<number, Shown>;
}

/** No answer is older. */
const OLDEST = 2 * MINUTE;

export function openPast({ state }: Pick<Simulator, "state">, clock: Clock) {
  let moments: Moment[] | null = null;
  const handled = new Map<number, number>();

  function note(): void {
    if (moments === null) return;
    const { now } = clock;
    moments = moments.filter(({ at }) => at >= now - OLDEST && at <= now);
    const servers = state().servers.map(
      ({ user_data: _data, ssh_keys: _keys, ...shown }) => [shown.id, shown] as const,
    );
    moments.push({ at: now, servers: new Map(servers) });
  }

  return {
    /** From now on it is remembered, which is not cheap. */
    begin: (): void => void (moments ??= []),
    note,
    handled: (id: number): void => void handled.set(id, clock.now),
    /** A machine a minute ago, or two: null where it was not there, undefined where nobody knows or it has been the same since. */
    of(id: number): Shown | null | undefined {
      const { now } = clock;
      const moment = moments?.findLast(({ at }) => at <= now - MINUTE);
      if (moment === undefined || (handled.get(id) ?? -Infinity) >= moment.at) return undefined;
      const was = moment.servers.get(id) ?? null;
      const is = state().servers.find((one) => one.id === id);
      const isSame = JSON.stringify(was?.labels) === JSON.stringify(is?.labels) && was?.status === is?.status;
      return isSame ? undefined : was;
    },
  };
}
