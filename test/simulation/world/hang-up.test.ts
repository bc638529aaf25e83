import { describe, expect, it } from "vitest";
import { HANG_UP, openInvocation } from "./invocation.ts";

const refuse = async (): Promise<never> => {
  throw new Error("refused");
};

/** A request that keeps one piece of work, of three awaits, or none, and does two more of its own; how far it came. */
async function live(at: number, when: "before" | "after", isKept: boolean) {
  const told: string[] = [];
  const invocation = openInvocation({
    mishap: { what: HANG_UP, at, when },
    onStrike: ({ what }) => told.push(`${what}!`),
  });
  const cross = (name: string) => invocation.cross("d1", async () => void told.push(name), refuse);
  const result = await invocation.run(async () => {
    await cross("token");
    const work = (async () => {
      await cross("row");
      await cross("server");
      await cross("record");
    })();
    if (isKept) invocation.keep(work);
    await work;
    await cross("shown");
    return "answered";
  });
  // What still runs after the end would be seen here.
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  return { result, told: told.join(" ") };
}

describe("whoever hangs up", () => {
  it.each([
    [0, "before", true, "hang_up!"],
    [0, "after", true, "hang_up! token"],
    [1, "before", true, "token hang_up! row server record"],
    [2, "after", true, "token row hang_up! server record"],
    [1, "before", false, "token hang_up!"],
    [2, "after", false, "token row hang_up! server"],
  ] as const)("at await %i, %s, of a request that keeps its work: %s", async (at, when, isKept, told) => {
    const life = await live(at, when, isKept);
    expect(life.result).toBeUndefined();
    expect(life.told.replace(" shown", "")).toBe(told);
  });
});
