export type Turn = () => Promise<void>;

/** Until whoever is only busy with itself has come to its next await outside. */
const MOMENT = 40;

/**
 * The turns of one invocation that awaits several things at once: one of those that wait goes on at a time, and `order` decides which.
 * 0 lets whoever waited longest go on. The same number is the same order.
 */
export function turnsIn(order: number): Turn {
  const waiting: (() => void)[] = [];
  let state = order;
  let isRunning = false;

  /** A number below `count`: Mulberry32, of which also the first of neighbouring seeds have nothing in common. */
  function draw(count: number): number {
    if (order === 0) return 0;
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
  }

  async function run(): Promise<void> {
    isRunning = true;
    let wereSeveral = false;
    while (waiting.length > 0) {
      for (let turn = 0; turn < MOMENT; turn++) await Promise.resolve();
      // What is read comes later than what it is read by; whoever is alone need not be waited for.
      if (wereSeveral || waiting.length > 1) {
        await scheduler.wait(0);
        await scheduler.wait(0);
      }
      wereSeveral = waiting.length > 1;
      waiting.splice(draw(waiting.length), 1)[0]?.();
    }
    isRunning = false;
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (!isRunning) void run();
    });
}

/**
 * Runs several at once, one await at a time, in an order that `order` decides; when it is used up, whoever waited longest
 * goes on. So a race is a number, and the same number is the same race.
 */
export async function inTurn(order: number, starts: readonly ((turn: Turn) => Promise<void>)[]): Promise<void> {
  const waiting: (() => void)[] = [];
  const running = new Set(starts);
  const ends = Promise.allSettled(
    starts.map(async (start) => {
      try {
        await start(() => new Promise((resolve) => waiting.push(resolve)));
      } finally {
        running.delete(start);
      }
    }),
  );
  let rest = order;
  while (running.size > 0) {
    // Until everybody waits for a turn: twice, because what was read comes in a later round than what it was read by.
    await scheduler.wait(0);
    await scheduler.wait(0);
    const count = Math.max(1, waiting.length);
    waiting.splice(rest % count, 1)[0]?.();
    rest = Math.floor(rest / count);
  }
  for (const end of await ends) if (end.status === "rejected") throw end.reason;
}
