/** The rate-limit bindings, for tests: the real ones count in real time, which no test's clock moves. */

/** No brakes: what tests run under that are not about them. */
export const UNBRAKED = { ADDRESS_BRAKE: undefined, ACCOUNT_BRAKE: undefined };

const MINUTE = 60_000;

/** A binding that counts by a test's clock, in windows of a minute; `keys` are those that it was asked about. */
export function brakeOn(now: () => number, limit: number) {
  const keys: string[] = [];
  const counts = new Map<string, number>();
  return {
    keys,
    limit: async ({ key }: { key: string }) => {
      keys.push(key);
      const window = `${Math.floor(now() / MINUTE)} ${key}`;
      const count = (counts.get(window) ?? 0) + 1;
      counts.set(window, count);
      return { success: count <= limit };
    },
  };
}
