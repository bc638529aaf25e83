/**
 * I6 at the end of a history, when nothing goes wrong any more: what is there is counted again, whatever became of its rows, and what
 * mayfly says that machines have cost is what the simulator has billed.
 */
import { env } from "cloudflare:workers";
import * as z from "zod";
import { perform, type Scene } from "../acts.ts";
import type { Books } from "../judge/books.ts";
import { OWNERS } from "../world/callers.ts";
import { chargesOf, total } from "./charges-by-hand.ts";
import { QUIETLY } from "../world/invocation.ts";
import type { Known } from "./register.ts";
import { HOUR, RECOVERY } from "../world/settings.ts";
import { keyOf } from "../world/truth.ts";

/** Everybody asks for one machine more, and for more time; whether that is let through is judged as ever. */
export async function askOnceMore(scene: Scene): Promise<void> {
  const there = new Set(scene.provider.simulator.state().servers.map(keyOf));
  for (const owner of OWNERS) {
    const name = scene.kind.rules.names.find((one) => !there.has(`${owner}/${one}`));
    const spec = owner === "tok.ann" ? 1 : 0;
    if (name !== undefined) await perform(scene, { do: "create", owner, name, ttl: "5m", spec }, QUIETLY);
  }
  // For nearly as long as its policy allows.
  for (const owner of OWNERS)
    await perform(scene, { do: "renew", owner, name: "a", ttl: owner === "tok.bob" ? "1h" : "3h" }, QUIETLY);
}

const page = z.object({
  machines: z.array(z.object({ provider_id: z.string().nullable(), cost_eur: z.number().nullable() })),
  meta: z.object({ pagination: z.object({ next_page: z.int().nullable() }) }),
});

/** What mayfly says that ended machines have cost, micro-EUR, by the provider's id; several where several rows tell of one. */
async function toldCosts({ mayfly }: Pick<Scene, "mayfly">): Promise<Map<string, (number | null)[]>> {
  const costs = new Map<string, (number | null)[]>();
  for (let next: number | null = 1; next !== null;) {
    const path = `/v1/machines?status=destroyed&per_page=50&page=${next}`;
    const answer = await mayfly.send(QUIETLY, { method: "GET", path, token: env.ADMIN_TOKEN });
    const { machines, meta } = page.parse(JSON.parse(answer?.text ?? "null"));
    for (const { provider_id, cost_eur } of machines)
      if (provider_id !== null)
        costs.set(provider_id, [
          ...(costs.get(provider_id) ?? []),
          cost_eur === null ? null : Math.round(cost_eur * 1_000_000),
        ]);
    next = meta.pagination.next_page;
  }
  return costs;
}

/**
 * Of every machine of which there never was a doubt: never less than the bill, and no more than until it could be proven gone. Where
 * clocks differed that is an hour either way; where prices changed an old one may have been taken for its address.
 */
export async function checkToldCosts(scene: Pick<Scene, "books" | "mayfly" | "money">): Promise<void> {
  if (scene.money === null) return;
  const { machines, market, checkBill } = scene.money;
  checkBill();
  const costs = await toldCosts(scene);
  for (const one of machines()) {
    if (one.deletedAt === null || one.wasDoubted) continue;
    const [told, ...others] = costs.get(String(one.id)) ?? [];
    const what = `I6: server ${one.id} (${one.key})`;
    if (told === undefined || told === null) {
      scene.books.broken.push(`${what} has no cost`);
      continue;
    }
    const slack = market.hasOtherClocks ? HOUR : 0;
    const least = total(chargesOf(one.order, Math.min(one.percent, market.lowest), one.bornAt, one.deletedAt - slack));
    const most = mostOf(one, scene.books, market.highest, slack);
    if (others.length > 0 || told < least || told > most)
      scene.books.broken.push(
        `${what} is told to have cost ${[told, ...others].join(" and ")}, not ${least} to ${most}`,
      );
  }
}

/** Infinity where something went wrong at its end, so that its proof may have come whenever. */
function mostOf(one: Known, { struckAt }: Books, percent: number, slack: number): number {
  const { deletedAt, provenBy } = one;
  if (deletedAt === null || provenBy === null || struckAt > deletedAt - RECOVERY) return Infinity;
  return total(chargesOf(one.order, percent, one.bornAt, provenBy + slack));
}
