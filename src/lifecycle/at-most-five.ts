/** So many calls are under way at once: a Worker waits for six answers at most, and the database needs one of them. */
export const AT_ONCE = 5;

/** What is done with each of several. */
export interface Steps<T, R> {
  /**
   * Asked for each in order, and for one at a time. The act that it answers is begun at once. `later` asks again when another one has
   * ended or was told, so it may be answered only while one is under way.
   */
  readonly begin: (one: T) => Promise<(() => Promise<R>) | "later">;
  /** Told what came of each, in order and one at a time, as soon as all before it have been told. */
  readonly tell: (one: T, came: R) => void | Promise<void>;
}

/**
 * Does something with each of several, at most five at once. An error that surfaces ends it: nothing more is begun, what is under way
 * comes to its end and is told, and then the first error is thrown.
 */
export async function atMostFive<T, R>(all: readonly T[], { begin, tell }: Steps<T, R>): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const ends: Promise<void>[] = [];
  let told = Promise.resolve();
  let open = 0;
  let isFailing = false;
  const fail = () => {
    isFailing = true;
  };

  async function tellAfter(before: Promise<void>, one: T, coming: Promise<R>): Promise<void> {
    await before;
    try {
      await tell(one, await coming);
    } finally {
      open -= 1;
    }
  }

  /** The act of one whose turn it is; null once something has failed. */
  async function turnOf(one: T): Promise<(() => Promise<R>) | null> {
    for (;;) {
      if (running.size >= AT_ONCE) await Promise.race(running);
      if (isFailing) return null;
      const isAlone = open === 0;
      const act = await begin(one);
      if (act !== "later") return act;
      if (isAlone) throw new Error("nothing is under way that could be waited for");
      await Promise.race([...running, told]);
    }
  }

  function start(one: T, act: () => Promise<R>): void {
    open += 1;
    const coming = act();
    const slot: Promise<unknown> = coming.catch(fail).finally(() => running.delete(slot));
    running.add(slot);
    const end = tellAfter(told, one, coming);
    ends.push(end);
    told = end.catch(fail);
  }

  try {
    for (const one of all) {
      const act = await turnOf(one);
      if (act === null) break;
      start(one, act);
    }
  } finally {
    await told;
  }
  await Promise.all(ends);
}
