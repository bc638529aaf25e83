/**
 * One life of the Worker. Each of its awaits on the outside crosses here, is counted, and may be the one where the mishap of
 * this life strikes.
 */

/**
 * `die`: the platform drops the Worker at that await, before or after its effect; nothing of it runs any more. `d1_refuses`: that
 * statement fails; `d1_down`: that one and all after it. `time_out`: that call of the provider is not answered in time.
 */
export interface Mishap {
  readonly what: (typeof MISHAPS)[number] | typeof HANG_UP;
  /** Counted over those awaits that it can strike. */
  readonly at: number;
  readonly when: "before" | "after";
}

export const MISHAPS = ["die", "d1_refuses", "d1_down", "time_out"] as const;
/** Whoever asked is gone by that await: what is kept goes on to its end, and all else is lost with the invocation. Ticks have nobody. */
export const HANG_UP = "hang_up";

type Outside = "d1" | "provider";

export interface Invocation {
  /** Awaits an effect outside; `refuse` is how that outside fails. */
  cross<T>(where: Outside, effect: () => Promise<T>, refuse: () => Promise<never>): Promise<T>;
  /** What goes on though nobody waits for its answer any more. */
  keep(work: Promise<unknown>): void;
  /** Runs to its end, or to its death: then undefined, as soon as what was under way has taken effect. */
  run<T>(act: () => Promise<T>): Promise<T | undefined>;
}

export interface Circumstances {
  readonly mishap: Mishap | null;
  readonly onStrike: (mishap: Mishap) => void;
  /** Resolves when this invocation may go on, where several go on in turn. */
  readonly turn?: () => Promise<void>;
}

/** Nothing befalls it. */
export const QUIETLY: Circumstances = { mishap: null, onStrike: () => {} };

// No rejection: a catch or a finally would still run in a Worker that is no more.
const never = (): Promise<never> => new Promise(() => {});

export function openInvocation({ mishap, onStrike, turn = async () => {} }: Circumstances): Invocation {
  const inFlight = new Set<Promise<unknown>>();
  const kept: Promise<unknown>[] = [];
  const counts = { d1: 0, provider: 0 };
  let isDead = false;
  let isHungUp = false;
  let announce: (dead: undefined) => void = () => {};
  const death = new Promise<undefined>((resolve) => (announce = resolve));

  function strikes(where: Outside): boolean {
    const inAll = counts.d1 + counts.provider;
    const inWhere = counts[where]++;
    if (mishap === null) return false;
    if (mishap.what === "die" || mishap.what === HANG_UP) return inAll === mishap.at;
    if (mishap.what === "time_out") return where === "provider" && inWhere === mishap.at;
    return where === "d1" && (mishap.what === "d1_down" ? inWhere >= mishap.at : inWhere === mishap.at);
  }

  function strike(struck: Mishap, refuse: () => Promise<never>): Promise<never> {
    onStrike(struck);
    if (struck.what !== "die") return refuse();
    die();
    return never();
  }

  function die(): void {
    isDead = true;
    announce(undefined);
  }

  /** Lives on for what is kept, also for what that keeps. */
  async function hangUp(struck: Mishap): Promise<void> {
    onStrike(struck);
    isHungUp = true;
    if (kept.length === 0) return die();
    for (let settled = 0; settled < kept.length;) {
      settled = kept.length;
      await Promise.allSettled(kept);
    }
    die();
  }

  return {
    async cross(where, effect, refuse) {
      if (!isDead) await turn();
      if (isDead) return never();
      let struck = mishap !== null && strikes(where) ? mishap : null;
      if (struck?.what === HANG_UP) {
        void hangUp(struck);
        if (isDead && struck.when === "before") return never();
        struck = null;
      }
      if (struck !== null && (struck.when === "before" || struck.what === "d1_down")) return strike(struck, refuse);
      const running = effect();
      inFlight.add(running);
      try {
        const result = await running;
        if (isDead) return await never();
        return struck === null ? result : await strike(struck, refuse);
      } catch (error) {
        if (isDead) return await never();
        throw error;
      } finally {
        inFlight.delete(running);
      }
    },
    keep: (work) => void kept.push(work),
    async run(act) {
      const result = await Promise.race([act(), death]);
      await Promise.allSettled(inFlight);
      return isHungUp ? undefined : result;
    },
  };
}
