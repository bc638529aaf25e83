// `npm run bench`: what mayfly costs and how fast it is, each figure beside its target. The last line is JSON. `-- --only PATTERN`
// takes the figures whose names match, `-- --write` puts the table into docs/performance.md.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { buildBundle } from "./bundle.ts";
import { counts } from "./bench/counts.ts";
import { cpu } from "./bench/cpu.ts";
import type { Bench, Figure, Group } from "./bench/figure.ts";
import { intake } from "./bench/intake.ts";
import { memory } from "./bench/memory.ts";
import { writePage } from "./bench/page.ts";
import { jsonOf, tableOf } from "./bench/print.ts";
import { startProvider } from "./bench/provider.ts";
import { aDay, past, refusals } from "./bench/rows.ts";
import { size, startUp } from "./bench/start-up.ts";
import { againstScript, freeTick } from "./bench/sweeps.ts";
import { throughput } from "./bench/throughput.ts";
import { NAMES } from "./bench/targets.ts";
import { within } from "./bench/workerd.ts";

const GROUPS: readonly Group[] = [
  cpu,
  freeTick,
  againstScript,
  counts,
  aDay,
  refusals,
  past,
  throughput,
  size,
  startUp,
  intake,
  memory,
];

const { values } = parseArgs({ options: { only: { type: "string" }, write: { type: "boolean" } } });
if (values.write && values.only !== undefined) throw new Error("--write needs all figures: leave --only out");
const pattern = new RegExp(values.only ?? "");
const PATIENCE_MS = 8 * 60_000;
const beganAt = Date.now();
const say = (text: string): void =>
  console.error(`${((Date.now() - beganAt) / 1000).toFixed(0).padStart(4)} s  ${text}`);

/** What a group gives; where it fails, the rest is measured all the same, and its figures are missed. */
async function figuresOf(group: Group, bench: Bench): Promise<readonly Figure[]> {
  try {
    return await within(PATIENCE_MS, () => group.measure(bench));
  } catch (error) {
    console.error(error);
    const note = `failed: ${error instanceof Error ? error.message : String(error)}`
      .replaceAll(/\s+/g, " ")
      .slice(0, 200);
    return group.names.map((name) => ({ name, value: null, note }));
  }
}

// Of processors that others use, a profiler's samples get lost and blocks get short: such figures are no figures.
const [load = 0] = loadavg();
if (load > cpus().length / 2)
  say(`this machine has other work to do (load ${load.toFixed(1)}): do not trust what is timed`);
say("building what a deploy would upload");
const provider = await startProvider();
const bench: Bench = { mayfly: buildBundle().text, provider, wants: (name) => pattern.test(name), say };
const figures: Figure[] = [];
for (const group of GROUPS)
  if (group.names.some((name) => bench.wants(name))) figures.push(...(await figuresOf(group, bench)));
await provider.stop();
const wanted = NAMES.filter((name) => bench.wants(name)).map(
  (name) => figures.find((figure) => figure.name === name) ?? { name, value: null, note: "nothing measures it" },
);
say("done");
const table = tableOf(wanted);
if (values.write) writePage(table, new Date(), load);
console.log(table);
console.log(jsonOf(wanted));
// Whatever had to be given up may wait for ever.
process.exit(0);
