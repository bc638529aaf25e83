// `npm run simulate`: plays fault histories of all kinds and says what struck and what came of it. A history that breaks a promise is
// made as small as it gets and printed, with the command that plays it again.
import { fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isKind, SHARES, type KindName } from "../test/simulation/kinds/shares.ts";
import type { Order, Result } from "../test/simulation/order.ts";
import { addTally, openTally, type Tally } from "../test/simulation/tally.ts";
import type { Sent } from "./simulate/player.ts";
import { linesOf, missingFrom } from "./simulate/print.ts";
import { slicesOf } from "./simulate/slices.ts";

const HELP = `npm run simulate -- [options]

  --seed N         which histories; by chance without it
  --runs M         how many, over all kinds by their shares (200)
  --kind NAME      of one kind alone: ${Object.keys(SHARES).join(", ")}
  --path P         with --kind and --seed: the one history that a failure has printed
  --history JSON   with --kind: that history; the name of a file that holds it will do
  --processes N    how many play side by side (as many as there are cores); what is played is the same
  --help           this

What a kind is to meet, in a run that is long enough, and never did is a failure too.`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: String(Date.now() % 2 ** 31) },
      runs: { type: "string", default: "200" },
      kind: { type: "string" },
      path: { type: "string" },
      history: { type: "string" },
      processes: { type: "string", default: String(availableParallelism()) },
      help: { type: "boolean", default: false },
    },
  });
  const count = (name: "seed" | "runs" | "processes"): number => {
    const number = Number(values[name]);
    if (!Number.isSafeInteger(number) || (number < 1 && name !== "seed"))
      refuse(`--${name} ${values[name]} is no number`);
    return number;
  };
  if (values.kind !== undefined && !isKind(values.kind))
    refuse(`--kind ${values.kind} is none of ${Object.keys(SHARES).join(", ")}`);
  return { ...values, kind: values.kind, seed: count("seed"), runs: count("runs"), processes: count("processes") };
}

type Options = ReturnType<typeof readOptions>;

function ordersOf({ seed, runs, kind, path, history }: Options): Order[] {
  if (path === undefined && history === undefined) return slicesOf(seed, runs, kind ?? null);
  if (kind === undefined) refuse("one history is of a --kind");
  if (history === undefined) return [{ kind, seed, runs: 1, ...(path === undefined ? {} : { path }) }];
  return [{ kind, seed, runs: 1, history: existsSync(history) ? readFileSync(history, "utf8") : history }];
}

/** Plays them in a process of its own, and answers when that has ended. */
function playIn(orders: readonly Order[], onSent: (sent: Sent) => void): Promise<void> {
  // Nothing is asked of the net.
  const env = { ...process.env, CLOUDFLARE_CF_FETCH_ENABLED: "false" };
  const player = fork(fileURLToPath(new URL("simulate/player.ts", import.meta.url)), { env });
  player.on("message", onSent);
  player.send(orders);
  return new Promise((resolve) => {
    player.once("exit", (code) => {
      if (code !== 0) onSent({ error: `a process ended with ${code}` });
      resolve();
    });
  });
}

interface OfKind {
  readonly tally: Tally;
  readonly mustMeet: Result["mustMeet"];
}

async function simulate(options: Options): Promise<void> {
  const orders = ordersOf(options);
  const inAll = orders.reduce((sum, { runs }) => sum + runs, 0);
  console.log(`seed ${options.seed}, ${inAll} histories in ${orders.length} slices`);
  const startedAt = Date.now();
  const kinds = new Map<KindName, OfKind>();
  let [slices, failures, histories] = [0, 0, 0];
  const fail = (why: string): void => {
    failures += 1;
    console.error(why);
  };
  const seconds = (): string => `${((Date.now() - startedAt) / 1000).toFixed(0)} s`;
  const onSent = (sent: Sent): void => {
    if ("error" in sent) return fail(`the histories could not be played: ${sent.error}`);
    const { kind, tally, mustMeet, failure } = sent.result;
    const known = kinds.get(kind) ?? { tally: openTally(), mustMeet };
    kinds.set(kind, known);
    addTally(known.tally, tally);
    slices += 1;
    histories += tally.histories;
    console.log(`${seconds()}: slice ${slices} of ${orders.length}, ${kind}: ${histories} histories`);
    if (failure !== null) fail(failure);
  };
  const processes = Math.min(options.processes, orders.length);
  await Promise.all(
    Array.from({ length: processes }, (_, own) =>
      playIn(
        orders.filter((_order, index) => index % processes === own),
        onSent,
      ),
    ),
  );
  for (const [kind, { tally, mustMeet }] of kinds) {
    console.log(linesOf(kind, tally).join("\n"));
    if (failures > 0) continue;
    for (const what of missingFrom(tally, mustMeet)) fail(`${kind}: never met ${what}`);
  }
  if (slices < orders.length) fail(`${orders.length - slices} slices were not played`);
  console.log(
    `${histories} histories in ${seconds()}, ${failures === 0 ? "all promises kept" : `${failures} failures`}`,
  );
  if (failures > 0) process.exitCode = 1;
}

function refuse(why: string): never {
  console.error(`${why}; --help tells what there is`);
  process.exit(2);
}

const options = readOptions();
if (options.help) console.log(HELP);
else await simulate(options);
