// How often the provider and D1 are asked. Exact, and the same on any machine.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCounted, type Cost } from "./counted.ts";
import type { Bench, Figure, Group } from "./figure.ts";
import { ORDER } from "./order.ts";
import { seedMachines } from "./seed.ts";
import { settle } from "./settled.ts";
import { OWNER } from "./world.ts";

const MINUTE = 60_000;

export const counts: Group = {
  names: [
    "calls: create",
    "calls: create, cold",
    "calls: destroy",
    "calls: renew",
    "calls: idle tick",
    "calls: inventory of 1,000",
    "trips: GET",
    "trips: list",
    "trips: repeat",
    "trips: create",
    "trips: idle tick",
  ],
  async measure(bench) {
    const costs = await costsOfCalls(bench);
    return [
      callsOf("calls: create", costs.create),
      callsOf("calls: create, cold", await costOfColdCreate(bench)),
      callsOf("calls: destroy", costs.destroy),
      callsOf("calls: renew", costs.renew),
      callsOf("calls: idle tick", costs.tick),
      await inventory(bench),
      tripsOf("trips: GET", costs.get),
      tripsOf("trips: list", costs.list),
      tripsOf("trips: repeat", costs.repeat),
      tripsOf("trips: create", costs.create),
      tripsOf("trips: idle tick", costs.tick),
    ];
  },
};

const callsOf = (name: Figure["name"], { calls, asked }: Cost): Figure => ({
  name,
  value: calls,
  note: asked.map(({ method, path }) => `${method} ${path.replace("/v1", "").replace(/\d+$/, "{id}")}`).join(", "),
});
const tripsOf = (name: Figure["name"], { trips, tripsAtFirst, read, written }: UsualCost): Figure => ({
  name,
  value: trips,
  note: `${tripsAtFirst} the first time; ${read ?? "?"} rows read, ${written ?? "?"} written`,
});

/** What is done all the time. */
export type Usual = "get" | "list" | "create" | "repeat" | "renew" | "destroy" | "tick";

interface UsualCost extends Cost {
  /** Of the first of its kind, before the isolate knows anything of it. */
  readonly tripsAtFirst: number;
}

/** Of the calls that a CI job makes, by a minted token, each the second of its kind: what an isolate remembers it does. */
export async function costsOfCalls(bench: Bench): Promise<Record<Usual, UsualCost>> {
  bench.say("counts: the usual calls");
  await bench.provider.reset();
  const world = await startCounted(bench);
  try {
    const token = await world.mint();
    await seedMachines(world, bench.provider, 100);
    await settle(world, bench.provider);
    const second = async (act: (name: string) => Promise<unknown>): Promise<UsualCost> => {
      const { trips } = await world.costOf(() => act("m-1"));
      return { ...(await world.costOf(() => act("m-2"))), tripsAtFirst: trips };
    };
    const get = await second((name) => world.call("GET", `/v1/machines/${name}`, 200, undefined, token));
    const list = await second(() => world.call("GET", "/v1/machines?per_page=50", 200, undefined, token));
    const create = await second((name) => world.call("PUT", `/v1/machines/new-${name}`, 201, ORDER, token));
    const repeat = await second((name) => world.call("PUT", `/v1/machines/new-${name}`, 200, ORDER, token));
    const renew = await second((name) => world.call("POST", `/v1/machines/${name}/renew`, 200, { ttl: "9h" }, token));
    const destroy = await second((name) => world.call("DELETE", `/v1/machines/${name}`, 200, undefined, token));
    await bench.provider.advance(120);
    await settle(world, bench.provider);
    return { get, list, create, repeat, renew, destroy, tick: await second(() => world.tick(Date.now())) };
  } finally {
    await world.stop();
  }
}

/** The first call of an isolate, over a database that an earlier one has filled. */
async function costOfColdCreate(bench: Bench): Promise<Cost> {
  bench.say("counts: a create by a fresh isolate");
  await bench.provider.reset();
  const stateDir = await mkdtemp(join(tmpdir(), "mayfly-bench-"));
  try {
    const first = await startCounted(bench, { stateDir });
    const token = await first.mint();
    await first.call("PUT", "/v1/machines/first", 201, ORDER, token);
    await first.stop();
    const second = await startCounted(bench, { stateDir });
    try {
      return await second.costOf(() => second.call("PUT", "/v1/machines/second", 201, ORDER, token));
    } finally {
      await second.stop();
    }
  } finally {
    await rm(stateDir, { recursive: true });
  }
}

/** What a whole pass asks about servers beyond the one list that each tick reads anyway. */
async function inventory(bench: Bench): Promise<Figure> {
  bench.say("counts: an inventory pass over 1,000 machines");
  await bench.provider.reset();
  const world = await startCounted(bench, { settings: { PLAN: "paid" } });
  try {
    await seedMachines(world, bench.provider, 1000);
    await settle(world, bench.provider);
    const at = Date.now() + 16 * MINUTE;
    let calls = 0;
    let ticks = 0;
    for (let asked = 2; asked > 1; ticks++) {
      const cost = await world.costOf(() => world.tick(at));
      asked = cost.asked.filter(({ path }) => path.startsWith("/v1/servers")).length;
      calls += asked - 1;
    }
    const whole = await world.db.prepare("SELECT count(*) AS n FROM machines WHERE owner = ?").bind(OWNER).first("n");
    return {
      name: "calls: inventory of 1,000",
      value: calls,
      note: `ticks of a paid plan: ${ticks - 1}; rows: ${String(whole)}`,
    };
  } finally {
    await world.stop();
  }
}
