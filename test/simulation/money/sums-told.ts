/** What mayfly says that each month has cost, held against the bill: also of machines whose rows are forgotten. */
import { env } from "cloudflare:workers";
import * as z from "zod";
import type { Scene } from "../acts.ts";
import { meet } from "../tally.ts";
import { isOf } from "../world/truth.ts";

/** After these a machine may honestly be told as less than it was, or not at all. */
const HARMLESS = new Set([
  "odd_tick",
  "scarce",
  "die",
  "d1_refuses",
  "d1_down",
  "time_out",
  "cut_before",
  "server_error",
]);
/** Two started hours of the dearest machine, micro-EUR: to its end, and to the proof of it. */
const MOST_MORE = 2 * 20_000;

const usage = z.object({ usage: z.object({ cost_eur: z.number().nullable() }) });

export async function checkSums({ books, mayfly, provider, installation }: Scene): Promise<void> {
  if ([...books.strikes.keys()].some((what) => !HARMLESS.has(what))) return;
  const servers = provider.simulator.bill().servers.filter((server) => isOf(server, installation));
  const months = new Set(servers.flatMap((server) => Object.keys(server.months)));
  for (const month of months) {
    const parts = servers.flatMap((server) => server.months[month] ?? []);
    const billed = parts.reduce(
      (sum, { server_micro_eur, ipv4_micro_eur }) => sum + server_micro_eur + ipv4_micro_eur,
      0,
    );
    const path = `/v1/usage?month=${month}`;
    const answer = await mayfly.send(
      { mishap: null, onStrike: () => {} },
      { method: "GET", path, token: env.ADMIN_TOKEN },
    );
    const { cost_eur } = usage.parse(JSON.parse(answer?.text ?? "null")).usage;
    const told = cost_eur === null ? null : Math.round(cost_eur * 1_000_000);
    meet(books.met, "judged months summed");
    const isWrong =
      told === null || told < billed || (books.strikes.size === 0 && told > billed + parts.length * MOST_MORE);
    if (isWrong) books.broken.push(`I6: ${month} is told to have cost ${told}, and ${billed} was billed`);
  }
}
