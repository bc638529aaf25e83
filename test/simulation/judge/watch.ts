/** Each call that mayfly sends, held against the truth of that moment: I2 and I4, and I1 and I3 after it. */
import { labelTime } from "../../../src/machine/age.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Simulator, ServerState } from "../../simulator/simulator.ts";
import type { Books } from "./books.ts";
import type { Clock } from "../world/provider.ts";
import { HOUR, LAUNCH_DEADLINE, MAX_AGE, MINUTE, MOST_SKEW } from "../world/settings.ts";
import { firstName, isOf, keyOf, labelEnd, labelsOf, resourcesOf, uidOf } from "../world/truth.ts";

/** Labels hold whole seconds. */
const LABEL_GRAIN = 1000;

/** Looks at a call before it takes effect; what it answers looks at what has become of it. */
export function watchCall(
  simulator: Simulator,
  books: Books,
  clock: Clock,
  request: Request,
  installation: string,
): () => void {
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
  if (server !== undefined) {
    const what = `${request.method} of server ${id} (${keyOf(server)})`;
    if (!isOf(server, installation)) books.broken.push(`I2: ${what}, which is not ours`);
    else if (request.method === "DELETE" && !mayDie(server, books, clock.now + clock.ahead))
      books.broken.push(`I4: ${what} at ${time(clock.now)}, though its end is ${time(endOf(server, books))}`);
  }
  return () => {
    const after = simulator.state().servers;
    for (const one of after) if (!before.some((old) => old.id === one.id)) books.born.set(one.id, clock.now);
    books.died += before.filter((old) => !after.some((one) => one.id === old.id)).length;
    if (request.method === "POST") checkDoubles(after, books);
    const kept = after.find((one) => one.id === id);
    // Nobody would look after it any more.
    if (server && kept && isOf(server, installation) && !isOf(kept, installation))
      books.broken.push(`I1: ${request.method} took our labels off server ${id}`);
  };
}

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

/** The end that was promised; while no row can be asked an hour past the label's is enough. */
function endOf(server: ServerState, { told, lengthened, isD1Refusing }: Books): number {
  const end = Math.max(told.get(uidOf(server)) ?? labelEnd(server), lengthened.get(uidOf(server)) ?? 0);
  return isD1Refusing ? Math.min(end, labelEnd(server) + HOUR) : end;
}

/** Whether a machine's end has come, or its beginning has failed. */
export function mayDie(server: ServerState, books: Books, now: number): boolean {
  if (books.asked.has(uidOf(server)) || books.asking.has(keyOf(server))) return true;
  const asked = labelTime(labelsOf(server), LABEL.created) ?? 0;
  if (books.words.some(({ which, at }) => asked <= at && which(server))) return true;
  const age = now - (books.born.get(server.id) ?? now);
  // What it was made with could not be put on, or a person has taken it off.
  const mayLack = books.strikes.has("action_error") || books.strikes.has("by hand");
  const isBare =
    (server.public_net.firewalls.length === 0 && age > 2 * MINUTE) ||
    (server.private_net.length === 0 && age >= LAUNCH_DEADLINE);
  const isNotLaunched = server.status !== "running" && age >= LAUNCH_DEADLINE;
  return now >= endOf(server, books) - LABEL_GRAIN || isNotLaunched || (mayLack && isBare) || age > MAX_AGE + MOST_SKEW;
}

const time = (ms: number): string => new Date(ms).toISOString().slice(11, 19);
