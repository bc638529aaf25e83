// What stays at the real provider when mayfly stops, and what that costs.
import * as z from "zod";

const PAGE = 50;
const TIMEOUT_MS = 15_000;

const page = z.object({
  machines: z.array(
    z.object({
      name: z.string(),
      owner: z.string(),
      provider_id: z.string().nullable(),
      expires_at: z.string(),
      price_eur_per_hour: z.number().nullable(),
    }),
  ),
  meta: z.object({ pagination: z.object({ next_page: z.int().nullable() }) }),
});
type Left = z.infer<typeof page>["machines"][number];

/** Whose machines these are to be told of. */
export interface Running {
  readonly url: string;
  readonly adminToken: string;
  readonly currency: string;
}

/** Sentences about all machines that live, for whoever stops mayfly; where they cannot be read, that is what they say. */
export async function tellLeftBehind(running: Running): Promise<string> {
  try {
    return sentencesOf(await machinesOf(running), running.currency);
  } catch (error) {
    return `Which machines stay could not be read (${String(error)}). Those that do cost money; look into Hetzner's console.`;
  }
}

async function machinesOf({ url, adminToken }: Running): Promise<Left[]> {
  const all: Left[] = [];
  for (let next: number | null = 1; next !== null;) {
    const response = await fetch(`${url}/v1/machines?page=${next}&per_page=${PAGE}`, {
      headers: { Authorization: `Bearer ${adminToken}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`GET /v1/machines is answered ${response.status}`);
    const { machines, meta } = page.parse(await response.json());
    all.push(...machines);
    next = meta.pagination.next_page;
  }
  return all;
}

function sentencesOf(machines: readonly Left[], currency: string): string {
  if (machines.length === 0) return "No machine stays at Hetzner.";
  const known = machines.flatMap(({ price_eur_per_hour: price }) => (price === null ? [] : [price]));
  const sum = known.reduce((total, price) => total + price, 0).toFixed(4);
  const unknown = machines.length - known.length;
  const beside = unknown === 0 ? "" : `, and ${unknown} of them nobody knows what`;
  return `${count(machines.length)} at Hetzner and cost ${sum} ${currency} an hour in all${beside}:

${machines.map(lineOf).join("\n")}

Nothing destroys them until mayfly is started again, also when their ends have come. To take them down: start it again and
DELETE /v1/machines/<name>, or delete them in Hetzner's console.`;
}

const count = (machines: number): string => (machines === 1 ? "1 machine stays" : `${machines} machines stay`);

const lineOf = ({ name, owner, provider_id: id, expires_at: end }: Left): string =>
  `  ${name}  ${owner}  ${id ?? "not known at Hetzner yet"}  until ${end}`;
