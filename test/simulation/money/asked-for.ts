/** What creates, moves of an end and refusals ask for, as far as money goes. */
import * as z from "zod";
import { labelTime } from "../../../src/machine/age.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Simulator } from "../../simulator/simulator.ts";
import { chargesOf, hourOf } from "./charges-by-hand.ts";
import { LIVES, type Act } from "../history.ts";
import type { Refused, Wanted } from "./judgement.ts";
import { limitsOfOwner } from "../world/limits.ts";
import type { Clock } from "../world/provider.ts";
import type { Known } from "./register.ts";
import { HOUR, MINUTE } from "../world/settings.ts";
import { ordersFor, SPECS } from "../world/specs.ts";
import type { Market, Pending, Sums } from "./sums.ts";

export type Asked = Extract<Act, { do: "create" | "renew" | "destroy" }>;
export const isAsked = (act: Act): act is Asked => act.do === "create" || act.do === "renew" || act.do === "destroy";

export const keyOf = ({ owner, name }: { readonly owner: string; readonly name: string }): string => `${owner}/${name}`;

/** A create as the provider gets it. */
export interface Posted extends Pending {
  /** The provider's name of what is to be. */
  readonly name: string;
}

const posted = z.object({
  name: z.string(),
  server_type: z.string(),
  location: z.string(),
  labels: z.record(z.string(), z.string()),
  public_net: z.object({ enable_ipv4: z.boolean() }),
});

/** Reads a create of an installation; null of any other call, and where the name is taken, so that nothing can come of it. */
export async function readCreate(
  request: Request,
  simulator: Simulator,
  installation: string,
  { now, percent }: { readonly now: number; readonly percent: number },
): Promise<Posted | null> {
  if (request.method !== "POST" || new URL(request.url).pathname !== "/v1/servers") return null;
  const { name, server_type, location, labels, public_net } = posted.parse(await request.clone().json());
  const isTaken = simulator.state().servers.some((one) => one.name === name);
  if (labels[LABEL.installation] !== installation || isTaken) return null;
  const owner = labels[LABEL.owner] ?? "";
  return {
    name,
    owner,
    key: keyOf({ owner, name: labels[LABEL.name] ?? "" }),
    account: limitsOfOwner(owner).account,
    order: { type: server_type, region: location, hasIpv4: public_net.enable_ipv4 },
    percent,
    askedAt: now,
    promised: labelTime(labels, LABEL.expires) ?? now,
  };
}

/** A machine that is to be. */
export const wantedBy = (create: Posted, sums: Sums): Wanted => {
  const { key, owner, order, percent, askedAt, promised } = create;
  return {
    what: `a create of ${key}`,
    owner,
    months: [...chargesOf(order, percent, askedAt, promised).keys()],
    charges: (allowed) => sums.chargesUntil(order, sums.percentOf(create, allowed), askedAt, promised, allowed),
    hour: (allowed) => hourOf(order, sums.percentOf(create, allowed)),
  };
};

/** A sweep comes by the minute, and proves what it has ended: within that a later end need not cost more. */
const LAG = 2 * MINUTE;

/** A machine whose end is moved; null where that costs nothing more. */
export function movedBy(
  act: Asked,
  one: Known,
  { from, to }: { readonly from: number; readonly to: number },
  sums: Sums,
  { skew }: Pick<Clock, "skew">,
): Wanted | null {
  const { id, key, order, percent, bornAt } = one;
  const until = (end: number) => chargesOf(order, percent, bornAt, end + skew);
  const [before, after] = [until(from + LAG), until(to)];
  const months = [...after].filter(([month, sum]) => sum > (before.get(month) ?? 0)).map(([month]) => month);
  if (months.length === 0) return null;
  return {
    what: `a ${act.do} of ${key}`,
    owner: act.owner,
    id,
    months,
    charges: (allowed) => sums.chargesUntil(order, sums.percentOf(one, allowed), bornAt, to + skew, allowed),
    hour: () => 0,
  };
}

/** What a refused call asked for; null where that cannot be told. `there` are the machines that have the name. */
export function refusedBy(
  act: Asked,
  there: readonly Known[],
  { highest }: Pick<Market, "highest">,
  now: number,
): Refused | null {
  if (act.do === "destroy") return null;
  const { owner } = act;
  const what = `a ${act.do} of ${keyOf(act)}`;
  const until = now + LIVES[act.ttl] + HOUR;
  if (act.do === "create")
    return {
      what,
      owner,
      orders: ordersFor(SPECS[act.spec]),
      charges: (order) => chargesOf(order, highest, now, until),
    };
  const [one] = there;
  if (one === undefined) return null;
  const { id, order, bornAt } = one;
  return { what, owner, id, orders: [order], charges: () => chargesOf(order, highest, bornAt, until) };
}
