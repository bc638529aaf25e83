type Turn = () => Promise<void>;

/**
 * Runs several at once, one await at a time, in an order that `order` decides bit by bit; when its bits are used up, whoever
 * waited longest goes on. So a race is a number, and the same number is the same race.
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
  for (let bits = order; running.size > 0; bits = Math.floor(bits / 2)) {
    // Until everybody waits for a turn: twice, because what was read comes in a later round than what it was read by.
    await scheduler.wait(0);
    await scheduler.wait(0);
    waiting.splice(bits % 2 < waiting.length ? bits % 2 : 0, 1)[0]?.();
  }
  for (const end of await ends) if (end.status === "rejected") throw end.reason;
}
