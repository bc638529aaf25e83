import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { between } from "../behind.ts";
import { createMayfly, minutes, MINUTE, servers, type Mayfly } from "../mayfly.ts";
import { lostRow, put, UID } from "./lost-rows.ts";

const uidOf = (number: number) => UID.replace("4d11", `4${String(number).padStart(3, "0")}`);

/** Whole numbers below `most`, from a seed. */
const random = (seed: number) => {
  let state = seed;
  return (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
};

const rowsWhere = async (where: string): Promise<string[]> =>
  (await env.DB.prepare(`SELECT provider_id FROM machines WHERE ${where}`).all()).results.map(({ provider_id: id }) =>
    String(id),
  );

/** Machines with rows, of ids of one digit to five. */
async function fleet(plan: string): Promise<Mayfly> {
  const mayfly = createMayfly({ PLAN: plan });
  for (let number = 0; number < 130; number++)
    mayfly.simulator.addServer({
      ...lostRow(`m${number}`, uidOf(number)),
      id: number < 60 ? number * 3 + 5 : number * 90,
    });
  mayfly.advance(16 * MINUTE);
  await minutes(mayfly, 8);
  expect(await rowsWhere("phase = 'active'")).toHaveLength(130);
  return mayfly;
}

it.each([
  [1, "free"],
  [2, "paid"],
])(
  "machines that come and go while an inventory pass reads its pages lose no row that is theirs (%d, %s)",
  async (seed, plan) => {
    const mayfly = await fleet(plan);
    const below = random(seed);
    let made = 0;
    let isCalm = false;
    const gone = new Set<string>();
    between(mayfly, async (request, ask) => {
      if (isCalm || request.method !== "GET" || !request.url.includes("sort=id")) return ask(request);
      if (below(8) === 0) return Response.json({}, { status: 500 });
      for (let times = below(12); times > 0; times--) {
        const at = below(3) === 0 ? servers(mayfly).length - 1 : below(servers(mayfly).length);
        const id = servers(mayfly)[at]?.id;
        if (id === undefined || gone.size >= 20) continue;
        await ask(
          new Request(`https://sim/v1/servers/${id}`, { method: "DELETE", headers: { Authorization: "Bearer any" } }),
        );
        gone.add(String(id));
      }
      if (made < 20 && below(2) === 0) await put(mayfly, `n${made++}`);
      return ask(request);
    });
    await minutes(mayfly, 40);
    isCalm = true;
    const there = servers(mayfly).map(({ id }) => String(id));
    const known = await rowsWhere("phase = 'active'");
    expect(there.filter((id) => !known.includes(id))).toEqual([]);
    await minutes(mayfly, 50);
    expect((await rowsWhere("phase = 'active'")).toSorted()).toEqual(there.toSorted());
    expect(
      servers(mayfly)
        .map(({ id }) => String(id))
        .toSorted(),
    ).toEqual(there.toSorted());
  },
);
