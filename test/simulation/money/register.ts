/**
 * What the judge of money knows of each machine of ours, by the simulator's word alone: from when to when it was there, at which price,
 * and what an honest mayfly may not know of it.
 */
import { LABEL, uidIn } from "../../../src/machine/labels.ts";
import type { Bill } from "../../simulator/bill.ts";
import type { ServerState } from "../../simulator/simulator.ts";
import type { Order } from "./charges-by-hand.ts";
import { limitsOfOwner } from "../world/limits.ts";
import type { Provider } from "../world/provider.ts";
import { ADOPTION, MINUTE } from "../world/settings.ts";
import { isOf, labelEnd, labelsOf } from "../world/truth.ts";

/** Why a machine may be unknown: its rows went with D1, it was not shown for a while, a person has taken it. */
export type Doubt = "d1_lost" | "unseen" | "taken";

/** Times unix milliseconds: those of the bill by the provider's clock, the promised end by ours. */
export interface Known {
  readonly id: number;
  readonly uid: string;
  /** (owner, name) in one word. */
  readonly key: string;
  readonly account: string;
  readonly order: Order;
  /** At what it was ordered, of the catalogue's prices. */
  readonly percent: number;
  readonly bornAt: number;
  /** By its label when it was made. */
  readonly promised: number;
  deletedAt: number | null;
  /** As it is; null once it is gone. */
  server: ServerState | null;
  readonly doubts: Set<Doubt>;
  /** Whether there ever was a doubt about it. */
  wasDoubted: boolean;
  /** Good ticks in a row since the last doubt, while it lives; since its deletion, once it is gone. */
  goodTicks: number;
  /** When the second good tick after its deletion was over: by then that was proven. */
  provenBy: number | null;
}

/** So many good ticks in a row, a minute apart, and what is there has its row again. */
const FOUND_AGAIN = ADOPTION / MINUTE;
const PROVEN = 2;

export type Register = ReturnType<typeof openRegister>;

export function openRegister(
  { simulator, oddities, isOdd }: Pick<Provider, "simulator" | "oddities" | "isOdd">,
  installation: string,
) {
  const machines = new Map<number, Known>();
  /** Those that were gone when D1 was copied, and known to it. */
  let copied = new Set<number>();

  function doubt(one: Known, why: Doubt): void {
    one.doubts.add(why);
    one.wasDoubted = true;
    one.goodTicks = 0;
  }

  function add(server: ServerState, { born_ms }: Bill["servers"][number], percent: number): void {
    const labels = labelsOf(server);
    const owner = labels[LABEL.owner] ?? "";
    machines.set(server.id, {
      id: server.id,
      uid: uidIn(labels),
      key: `${owner}/${labels[LABEL.name]}`,
      // Not as its label tells: whether that is right is for the limits to show.
      account: limitsOfOwner(owner).account,
      order: {
        type: server.server_type.name,
        region: server.location.name,
        hasIpv4: server.public_net.ipv4 !== null,
      },
      percent,
      bornAt: born_ms,
      promised: labelEnd(server),
      deletedAt: null,
      server,
      doubts: new Set(),
      wasDoubted: false,
      goodTicks: 0,
      provenBy: null,
    });
  }

  return {
    all: (): Known[] => [...machines.values()],

    /** Looks at what is there, and answers that; what is new was ordered at `percent`. */
    look(percent: number): readonly ServerState[] {
      const { servers } = simulator.state();
      const bill = new Map(simulator.bill().servers.map((one) => [one.id, one]));
      for (const server of servers) {
        const billed = bill.get(server.id);
        if (billed === undefined || machines.has(server.id) || !isOf(server, installation)) continue;
        add(server, billed, percent);
      }
      for (const one of machines.values()) {
        if (one.deletedAt !== null) continue;
        one.server = servers.find(({ id }) => id === one.id) ?? null;
        one.deletedAt = bill.get(one.id)?.deleted_ms ?? null;
        if (one.deletedAt !== null) one.goodTicks = 0;
        if (one.server !== null && !isOf(one.server, installation)) doubt(one, "taken");
        // Landed late, or hidden since.
        if (oddities.isHiding(one.id) || (isOdd(one.id) && !one.wasDoubted)) doubt(one, "unseen");
      }
      return servers;
    },

    /** Lists have not shown young machines: those that no answer has told of may have been given up. */
    unseen(isTold: (uid: string) => boolean): void {
      for (const one of machines.values()) if (one.deletedAt === null && !isTold(one.uid)) doubt(one, "unseen");
    },

    afterTick(isGood: boolean, now: number): void {
      for (const one of machines.values()) {
        if (one.deletedAt !== null) {
          if (isGood && one.provenBy === null && ++one.goodTicks >= PROVEN) one.provenBy = now;
          continue;
        }
        if (oddities.isHiding(one.id)) doubt(one, "unseen");
        one.goodTicks = isGood ? one.goodTicks + 1 : 0;
        if (one.goodTicks < FOUND_AGAIN) continue;
        for (const why of one.doubts) if (why !== "taken") one.doubts.delete(why);
      }
    },

    copied(): void {
      copied = new Set(
        [...machines.values()].filter((one) => one.deletedAt !== null && one.doubts.size === 0).map(({ id }) => id),
      );
    },
    /** D1 is another: new, or as it was copied. What is gone and was not in it is forgotten, what is there is to be found. */
    lost(isRestored: boolean): void {
      for (const one of machines.values()) if (!isRestored || !copied.has(one.id)) doubt(one, "d1_lost");
    },
  };
}
