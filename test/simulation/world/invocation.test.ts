import { describe, expect, it } from "vitest";
import { openInvocation, type Mishap } from "./invocation.ts";
import { inTurn, turnsIn } from "./turns.ts";

const refuse = async (): Promise<never> => {
  throw new Error("refused");
};

/** An invocation of three awaits, of the provider, of D1 and of D1 again, that tells how far it came. */
async function live(mishap: Mishap | null) {
  const told: string[] = [];
  const invocation = openInvocation({ mishap, onStrike: ({ what }) => told.push(`${what}!`) });
  const cross = async (where: "d1" | "provider", name: string) => {
    try {
      await invocation.cross(where, async () => void told.push(name), refuse);
      told.push(`after ${name}`);
    } catch {
      told.push(`no ${name}`);
    }
  };
  const result = await invocation.run(async () => {
    try {
      await cross("provider", "call");
      await cross("d1", "read");
      await cross("d1", "write");
      return "ended";
    } finally {
      told.push("finally");
    }
  });
  return { result, told: told.join(", ") };
}

describe("a life with a mishap", () => {
  it.each<[Mishap | null, string | undefined, string]>([
    [null, "ended", "call, after call, read, after read, write, after write, finally"],
    [{ what: "die", at: 1, when: "before" }, undefined, "call, after call, die!"],
    [{ what: "die", at: 1, when: "after" }, undefined, "call, after call, read, die!"],
    [{ what: "die", at: 3, when: "after" }, "ended", "call, after call, read, after read, write, after write, finally"],
    [
      { what: "d1_refuses", at: 0, when: "before" },
      "ended",
      "call, after call, d1_refuses!, no read, write, after write, finally",
    ],
    [
      { what: "d1_refuses", at: 1, when: "after" },
      "ended",
      "call, after call, read, after read, write, d1_refuses!, no write, finally",
    ],
    [
      { what: "d1_down", at: 0, when: "after" },
      "ended",
      "call, after call, d1_down!, no read, d1_down!, no write, finally",
    ],
    [
      { what: "time_out", at: 0, when: "after" },
      "ended",
      "call, time_out!, no call, read, after read, write, after write, finally",
    ],
  ])("%j", async (mishap, result, told) => {
    expect(await live(mishap)).toEqual({ result, told });
  });

  it("takes everything down that goes on beside, once what was under way has taken effect", async () => {
    const told: string[] = [];
    const invocation = openInvocation({ mishap: { what: "die", at: 1, when: "before" }, onStrike: () => {} });
    let finish = () => {};
    const slow = new Promise<void>((resolve) => (finish = resolve));
    const beside = async () => {
      await invocation.cross("d1", () => slow.then(() => void told.push("effect")), refuse);
      told.push("beside goes on");
    };
    const dying = async () => {
      await invocation.cross("d1", async () => void told.push("never"), refuse);
    };
    const life = invocation.run(() => Promise.all([beside(), dying()]));
    finish();
    expect(await life).toBeUndefined();
    expect(told).toEqual(["effect"]);
  });
});

describe("several in turn", () => {
  async function orderOf(order: number): Promise<string> {
    const told: string[] = [];
    const three = (who: string) => async (turn: () => Promise<void>) => {
      for (let step = 1; step <= 3; step++) {
        await turn();
        told.push(`${who}${step}`);
      }
    };
    await inTurn(order, [three("a"), three("b")]);
    return told.join(" ");
  }

  it("go by the order's bits, the same order each time", async () => {
    expect(await orderOf(0)).toBe("a1 b1 a2 b2 a3 b3");
    expect(await orderOf(0b0010)).toBe("a1 a2 b1 a3 b2 b3");
    expect(await orderOf(0b1111)).toBe("b1 b2 b3 a1 a2 a3");
    expect(await orderOf(0b1111)).toBe(await orderOf(0b1111));
  });

  it("surface a failure once all have ended", async () => {
    const fails = async (turn: () => Promise<void>) => {
      await turn();
      throw new Error("failed");
    };
    await expect(inTurn(0, [fails, async (turn) => turn()])).rejects.toThrow("failed");
  });
});

describe("what one invocation awaits at once", () => {
  async function orderOf(order: number): Promise<string> {
    const told: string[] = [];
    const invocation = openInvocation({ mishap: null, onStrike: () => {}, turn: turnsIn(order) });
    const twice = async (who: string) => {
      for (let step = 1; step <= 2; step++)
        await invocation.cross("provider", async () => void told.push(`${who}${step}`), refuse);
    };
    await invocation.run(() => Promise.all(["a", "b", "c", "d", "e"].map(twice)));
    return told.join(" ");
  }

  it("goes on one at a time in the order that the number says, the same each time", async () => {
    expect(await orderOf(0)).toBe("a1 b1 c1 d1 e1 a2 b2 c2 d2 e2");
    const orders = await Promise.all(Array.from({ length: 40 }, (_, number) => orderOf(number + 1)));
    expect(new Set(orders).size).toBeGreaterThan(30);
    expect(new Set(orders.map((one) => one.slice(0, 2))).size).toBe(5);
    expect(await orderOf(7)).toBe(orders[6]);
    for (const one of orders) expect(one.split(" ").toSorted().join(" ")).toBe("a1 a2 b1 b2 c1 c2 d1 d2 e1 e2");
  });
});
