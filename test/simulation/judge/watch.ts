/** Each call that mayfly sends, held against the truth of that moment: I2 and I4, and I1 and I3 after it. */
import * as z from "zod";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Simulator, ServerState } from "../../simulator/simulator.ts";
import type { Books } from "./books.ts";
import type { Leases } from "./leases.ts";
import { GRAIN_MS, leastOf } from "./life.ts";
import type { Clock } from "../world/provider.ts";
import type { Rules } from "../kinds/kind.ts";
import { HOUR, MINUTE, MOST_SKEW } from "../world/settings.ts";
import { firewallsOf, firstName, isOf, keyOf, labelEnd, labelsOf, resourcesOf, uidOf } from "../world/truth.ts";

/** What a call is judged by. */
export interface Watch {
  readonly books: Books;
  /** Of each installation. */
  readonly leasesOf: (installation: string) => Leases;
  readonly rules: Rules;
  readonly clock: Clock;
}

const posted = z.object({ labels: z.record(z.string(), z.string()) });

export type WatchCall = ReturnType<typeof openWatch>;

/**
 * Looks at a call before it takes effect; what it answers looks at what has become of it. `reads` are the servers that the same life of the
 * Worker has been shown.
 */
export const openWatch =
  (watch: Watch) =>
  async (
    simulator: Simulator,
    request: Request,
    installation: string,
    reads: ReadonlySet<number>,
  ): Promise<() => void> => {
    const { books, leasesOf, rules, clock } = watch;
    const leases = leasesOf(installation);
    if (request.method === "GET") return () => {};
    const before = simulator.state().servers;
    const { pathname } = new URL(request.url);
    const id = Number(/^\/v1\/servers\/(\d+)/.exec(pathname)?.[1]);
    const server = before.find((one) => one.id === id);
    if (request.method === "DELETE" && !pathname.startsWith("/v1/servers/")) {
      const isOurs = resourcesOf(simulator.state(), installation).includes(pathname);
      // One that is gone already may be deleted again.
      if (!isOurs && isThere(simulator, pathname)) books.broken.push(`I2: DELETE of ${pathname}, which is not ours`);
    }
    if (request.method === "POST" && pathname === "/v1/servers") {
      const { labels } = posted.parse(await request.clone().json());
      if (firstName(labels[LABEL.installation] ?? "") === installation) leases.posted(labels);
      else books.broken.push(`I5: a server is made as of ${labels[LABEL.installation]}`);
    }
    if (server !== undefined) {
      const what = `${request.method} of server ${id} (${keyOf(server)})`;
      if (!isOf(server, installation)) books.broken.push(`I2: ${what}, which is not ours`);
      else if (request.method === "DELETE") {
        if (!reads.has(id)) books.broken.push(`I2: ${what}, which was not read before`);
        if (!mayDie(server, { books, leases, rules }, clock.now + clock.ahead))
          books.broken.push(
            `I4: ${what} at ${time(clock.now)}, though its end is ${time(endOf(server, books, leases))}`,
          );
      }
    }
    return () => {
      const after = simulator.state().servers;
      for (const one of after) if (!before.some((old) => old.id === one.id)) books.born.set(one.id, clock.now);
      books.died += before.filter((old) => !after.some((one) => one.id === old.id)).length;
      if (request.method === "POST") checkDoubles(after, books);
      const kept = after.find((one) => one.id === id);
      if (server === undefined || kept === undefined || !isOf(server, installation)) return;
      // Nobody would look after it any more.
      if (!isOf(kept, installation)) books.broken.push(`I1: ${request.method} took our labels off server ${id}`);
      else if (request.method === "PUT") leases.relabelled(labelsOf(server), labelsOf(kept));
    };
  };

function isThere(simulator: Simulator, pathname: string): boolean {
  const { firewalls, networks, ssh_keys } = simulator.state();
  const id = Number(pathname.split("/").at(-1));
  return [...firewalls, ...networks, ...ssh_keys].some((one) => one.id === id);
}

/** I3: one (owner, name) of one installation is one machine. */
function checkDoubles(servers: readonly ServerState[], books: Books): void {
  const seen = new Set<string>();
  for (const server of servers) {
    const labels = labelsOf(server);
    if (labels[LABEL.managed] !== "true") continue;
    const key = `${firstName(labels[LABEL.installation] ?? "")} ${keyOf(server)}`;
    if (seen.has(key)) books.broken.push(`I3: two servers are ${key}`);
    seen.add(key);
  }
}

/** The end that was promised; while no row can be asked an hour past the label's is enough. One that nobody asked for has its label's. */
function endOf(server: ServerState, { isD1Refusing }: Pick<Books, "isD1Refusing">, leases: Leases): number {
  const life = leases.of(uidOf(server));
  const end = life === undefined ? labelEnd(server) : leastOf(life);
  return isD1Refusing ? Math.min(end, labelEnd(server) + HOUR) : end;
}

/** Whether a machine's end has come, or its beginning has failed. */
export function mayDie(
  server: ServerState,
  { books, leases, rules }: { readonly books: Books; readonly leases: Leases; readonly rules: Rules },
  now: number,
): boolean {
  if ((leases.of(uidOf(server))?.word ?? null) !== null) return true;
  const age = now - (books.born.get(server.id) ?? now);
  // What it was made with could not be put on, or a person has taken it off; another firewall does not stand for it.
  const made = books.unfinished.get(server.id);
  const has = firewallsOf(server);
  const isOpen = has.length === 0 || made?.some((one) => !has.includes(one)) === true;
  const isWithout = (isOpen && age > 2 * MINUTE) || (server.private_net.length === 0 && age >= rules.launchDeadline);
  const isBare = made !== undefined && isWithout;
  const isNotLaunched = server.status !== "running" && age >= rules.launchDeadline;
  const isOld = age > rules.maxAge + MOST_SKEW;
  return now >= endOf(server, books, leases) - GRAIN_MS || isNotLaunched || isBare || isOld;
}

const time = (ms: number): string => new Date(ms).toISOString().slice(11, 19);
