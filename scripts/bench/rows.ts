// Rows, which a plan limits by the day: what is written while nothing happens, and what is read for the sake of the past.
import { startCounted, type Cost, type CountedWorld } from "./counted.ts";
import type { Bench, Figure, Group } from "./figure.ts";
import { ORDER } from "./order.ts";
import { seedMachines, seedPast } from "./seed.ts";
import { settle } from "./settled.ts";
import type { Name } from "./targets.ts";

const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;
/** In these minutes of each quarter of an hour a tick is played: a pass begins, and ends; the other ticks write what idle ticks do. */
const PLAYED = [0, 1, 2];

export const aDay: Group = {
  names: ["written: a machine, a day"],
  async measure(bench) {
    const few = await writtenInADay(bench, 20);
    const many = await writtenInADay(bench, 40);
    const value = few === null || many === null ? null : (many - few) / 20;
    const note = `of 20 machines ${few}, of 40 ${many}, lock and reports included; 96 passes`;
    return [{ name: "written: a machine, a day", value, note }];
  },
};

async function writtenInADay(bench: Bench, machines: number): Promise<number | null> {
  bench.say(`rows: a day of ${machines} machines`);
  await bench.provider.reset();
  const world = await startCounted(bench, { settings: { MAX_AGE: "72h" } });
  try {
    await seedMachines(world, bench.provider, machines, { endsIn: 60 * 60 * MINUTE });
    await settle(world, bench.provider);
    const began = Date.now() + QUARTER;
    let written: number | null = 0;
    for (let quarter = 0; quarter < 96; quarter++) {
      await bench.provider.advance(QUARTER / 1000);
      for (const minute of PLAYED) {
        const cost: Cost = await world.costOf(() => world.tick(began + quarter * QUARTER + minute * MINUTE));
        written = written === null || cost.written === null ? null : written + cost.written;
      }
    }
    return written;
  } finally {
    await world.stop();
  }
}

export const refusals: Group = {
  names: ["written: a call refused"],
  async measure(bench) {
    bench.say("rows: calls that are refused");
    await bench.provider.reset();
    const world = await startCounted(bench, { settings: { MAX_MACHINES: "2" } });
    try {
      const token = await world.mint();
      for (const name of ["one", "two"]) await world.call("PUT", `/v1/machines/${name}`, 201, ORDER, token);
      const refused = await costsOfRefusals(world, token);
      const written = refused.map(({ cost }) => cost.written);
      const told = written.filter((count) => count !== null);
      const worst = refused.filter(({ cost }) => cost.written !== 0 || cost.calls !== 0).map(({ what }) => what);
      const value = told.length < written.length ? null : Math.max(...told);
      return [
        { name: "written: a call refused", value, note: worst.join("; ") || `the most of ${refused.length} refusals` },
      ];
    } finally {
      await world.stop();
    }
  },
};

async function costsOfRefusals(world: CountedWorld, token: string): Promise<{ what: string; cost: Cost }[]> {
  const refused: [number, string, string, unknown?, string?][] = [
    [401, "GET", "/v1/machines", undefined, "nobodys-token"],
    [403, "GET", "/v1/tokens"],
    [404, "GET", "/v1/machines/none"],
    [422, "PUT", "/v1/machines/new", []],
    [422, "PUT", "/v1/machines/new", { ...ORDER, ttl: "forever" }],
    [422, "PUT", "/v1/machines/new", { ...ORDER, server_type: "cx99" }],
    [409, "PUT", "/v1/machines/one", { ...ORDER, image: "ubuntu-24.04" }],
    [429, "PUT", "/v1/machines/new", ORDER],
    [404, "POST", "/v1/machines/none/renew", { ttl: "1h" }],
    [404, "POST", "/v1/hooks/none", {}],
  ];
  const costs: { what: string; cost: Cost }[] = [];
  for (const [status, method, path, body, by = token] of refused) {
    const cost = await world.costOf(() => world.call(method, path, status, body, by));
    costs.push({ what: `${method} ${path} ${status}: ${cost.written ?? "?"} rows, ${cost.calls} calls`, cost });
  }
  return costs;
}

const PAST: readonly Name[] = ["past: GET", "past: list", "past: create", "past: idle tick"];
const FEW = 10;
const MANY = 100_000;

export const past: Group = {
  names: PAST,
  async measure(bench) {
    const few = await readOver(bench, FEW);
    const many = await readOver(bench, MANY);
    return PAST.map((name, index): Figure => {
      const [a = null, b = null] = [few[index]?.read, many[index]?.read];
      return {
        name,
        value: a === null || b === null ? null : b - a,
        note: `${a} rows over ${FEW}, ${b} over 10⁵ ended`,
      };
    });
  },
};

/** What is read over a past of so many machines of the same owner, in the order of {@link PAST}. */
async function readOver(bench: Bench, ended: number): Promise<readonly Cost[]> {
  bench.say(`rows: over a past of ${ended} machines`);
  await bench.provider.reset();
  const world = await startCounted(bench);
  try {
    const token = await world.mint();
    for (const name of ["box", "other"]) await world.call("PUT", `/v1/machines/${name}`, 201, ORDER, token);
    await bench.provider.advance(120);
    await seedMachines(world, bench.provider, 50);
    await seedPast(world, ended);
    await settle(world, bench.provider);
    await world.call("GET", "/v1/machines/box", 200, undefined, token);
    return [
      await world.costOf(() => world.call("GET", "/v1/machines/box", 200, undefined, token)),
      await world.costOf(() => world.call("GET", "/v1/machines?per_page=50", 200, undefined, token)),
      await world.costOf(() => world.call("PUT", "/v1/machines/old-2", 201, ORDER, token)),
      await world.costOf(() => world.tick(Date.now())),
    ];
  } finally {
    await world.stop();
  }
}
