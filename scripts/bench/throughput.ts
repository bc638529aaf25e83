// Throughput beside a bare Worker that does the least that could be called the same: in blocks by turns, on one machine, in one run.
import type { Agent } from "node:http";
import { bareModules } from "./bundles.ts";
import { costsOfCalls, type Usual } from "./counts.ts";
import type { Bench, Figure, Group } from "./figure.ts";
import { openConnections, throughputOf, type Load, type Request } from "./load.ts";
import { ORDER } from "./order.ts";
import { seedMachines } from "./seed.ts";
import { spreadOf, spreadText, type Spread } from "./statistics.ts";
import { isMet, type Name } from "./targets.ts";
import { startWorld, type World } from "./world.ts";

const WARM_MS = 1500;
/** Creates in short ones, because each has to count what lives by then. */
const BLOCKS = { reads: { count: 5, ms: 1500 }, creates: { count: 9, ms: 600 } };
const MACHINES = 100;
/** So many machines live when a block of creates begins. */
const LIVE = 10;

interface Side {
  readonly world: World;
  /** Puts back what a block has made. */
  readonly clear: () => Promise<unknown>;
}
type Turn = readonly [Side, Load];
interface Case {
  readonly name: Name;
  /** Whose trips and calls a bare Worker is given, to see what they alone cost. */
  readonly usual: Usual;
  readonly mayfly: (world: World, token: string) => Load;
  readonly bare: (world: World, trips: number, calls: number) => Load;
  /** Where as many trips are not all that has to be done: what has. */
  readonly floor?: { readonly what: string; readonly load: (world: World) => Load };
}

let made = 0;
const body = JSON.stringify(ORDER);
const put = (url: string, headers: Request["headers"] = {}): Request => ({
  method: "PUT",
  url,
  headers: { ...headers, "Content-Type": "application/json" },
  body,
});

const CASES: readonly Case[] = [
  {
    name: "throughput: GET ÷ one D1 read",
    usual: "get",
    mayfly: ({ url }, token) => ({
      next: () => ({ method: "GET", url: `${url}/v1/machines/m-${made++ % MACHINES}`, headers: bearer(token) }),
      expected: 200,
    }),
    bare: ({ url }, trips) => ({
      next: () => ({ method: "GET", url: `${url}/read/m-${made++ % MACHINES}?trips=${trips}` }),
      expected: 200,
    }),
  },
  {
    name: "throughput: list of 50 ÷ bare list of 50",
    usual: "list",
    mayfly: ({ url }, token) => ({
      next: () => ({ method: "GET", url: `${url}/v1/machines?per_page=50`, headers: bearer(token) }),
      expected: 200,
    }),
    bare: ({ url }, trips) => ({ next: () => ({ method: "GET", url: `${url}/list?trips=${trips}` }), expected: 200 }),
  },
  {
    name: "throughput: create ÷ insert and fetch",
    usual: "create",
    mayfly: ({ url }, token) => ({ next: () => put(`${url}/v1/machines/new-${made++}`, bearer(token)), expected: 201 }),
    bare: ({ url }, trips, calls) => ({
      next: () => put(`${url}/make/bare-${made++}?trips=${trips}&calls=${calls}`),
      expected: 201,
    }),
    floor: {
      what: "the same rows in the same tables",
      load: ({ url }) => ({ next: () => put(`${url}/lend/bare-${made++}`), expected: 201 }),
    },
  },
];

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

export const throughput: Group = {
  names: CASES.map(({ name }) => name),
  async measure(bench) {
    const mayfly = await startWorld(bench);
    const bare = await startWorld(bench, { modules: await bareModules() });
    const agent = openConnections();
    try {
      const token = await mayfly.mint();
      let known: ReturnType<typeof costsOfCalls> | undefined;
      const costs = () => (known ??= costsOfCalls(bench));
      const figures: Figure[] = [];
      for (const one of CASES)
        if (bench.wants(one.name)) figures.push(await figureOf(bench, one, { costs, mayfly, bare, agent, token }));
      return figures;
    } finally {
      agent.destroy();
      await mayfly.stop();
      await bare.stop();
    }
  },
};

interface Stage {
  /** What mayfly asks D1 and the provider for. */
  readonly costs: () => ReturnType<typeof costsOfCalls>;
  readonly mayfly: World;
  readonly bare: World;
  readonly agent: Agent;
  readonly token: string;
}

async function figureOf(bench: Bench, one: Case, stage: Stage): Promise<Figure> {
  const { mayfly, bare, token } = stage;
  const sides = { mayfly: sideOf(bench, one, mayfly), bare: sideOf(bench, one, bare) };
  bench.say(one.name);
  const [ours, theirs] = await byTurns(stage, one, [
    [sides.mayfly, one.mayfly(mayfly, token)],
    [sides.bare, one.bare(bare, 1, 1)],
  ]);
  const ratios = spreadOf(ours.map((count, index) => count / (theirs[index] ?? Number.NaN)));
  const value = spreadOf(ours).median / spreadOf(theirs).median;
  const note = `${spreadText(ratios, 2)} block by block; ${rates(spreadOf(ours))} ÷ ${rates(spreadOf(theirs))} a second`;
  if (isMet(one.name, value)) return { name: one.name, value, note };
  return { name: one.name, value, note: `${note}; ${await floorOf(bench, one, stage, sides.bare)}` };
}

const rates = (spread: Spread): string => spreadText(spread, 0);

/** What the bare Worker reaches that does as much outside itself as mayfly: no code could be faster without doing less there. */
async function floorOf(bench: Bench, one: Case, stage: Stage, side: Side): Promise<string> {
  const { trips, calls } = (await stage.costs())[one.usual];
  const work = `${plural(trips, "trip")}${calls === 0 ? "" : ` and ${plural(calls, "call")}`}`;
  const { what, load } = one.floor ?? { what: work, load: (world: World) => one.bare(world, trips, calls) };
  bench.say(`${one.name}: the bare Worker with ${what}`);
  const [same, least] = await byTurns(stage, one, [
    [side, load(side.world)],
    [side, one.bare(side.world, 1, 1)],
  ]);
  const floor = spreadOf(same).median / spreadOf(least).median;
  return `bare, with ${what}: ${floor.toFixed(2)}`;
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Both sides by turns, after each has warmed up. */
async function byTurns({ agent }: Stage, { usual }: Case, loads: readonly [Turn, Turn]): Promise<[number[], number[]]> {
  const { count, ms } = usual === "create" ? BLOCKS.creates : BLOCKS.reads;
  const found: [number[], number[]] = [[], []];
  for (let block = 0; block <= count; block++)
    for (const [index, [{ clear }, load]] of loads.entries()) {
      await clear();
      const rate = await throughputOf(agent, load, block === 0 ? WARM_MS : ms);
      if (block > 0) found[index === 0 ? 0 : 1].push(rate);
    }
  return found;
}

/** Before a block: the machines that are looked at, or few where new ones are made. */
function sideOf({ provider }: Bench, { usual }: Case, world: World): Side {
  const count = usual === "create" ? LIVE : MACHINES;
  let isSet = false;
  return {
    world,
    async clear() {
      // What was seen within half a minute is not looked at again: this is about calls that ask the provider for nothing.
      if (isSet && usual !== "create") {
        await world.db.prepare("UPDATE machines SET observed_at = ?").bind(Date.now()).run();
        return;
      }
      isSet = true;
      await provider.reset();
      const emptied = ["machines", "events", "tombstones"].map((table) => world.db.prepare(`DELETE FROM ${table}`));
      await world.db.batch(emptied);
      await seedMachines(world, provider, count);
      await world.db.prepare("UPDATE locks SET last_good_cron_at = ?").bind(Date.now()).run();
    },
  };
}
