/** A dry run answers, and changes nothing: neither at the provider nor in the database. */
import * as z from "zod";
import { sql } from "../../../src/store/db.ts";
import type { Scene } from "../acts.ts";
import type { Answer } from "../world/installation.ts";

/** What a dry run could spoil. What is remembered of a catalogue is nobody's, and whoever calls may need a token first. */
const SPOILT = [
  ...["machines", "resources", "tombstones", "settings", "sweeps"].map((table) =>
    sql(`SELECT * FROM ${table} ORDER BY 1, 2`),
  ),
  sql("SELECT * FROM events WHERE event <> 'token_minted' ORDER BY 1"),
];

const said = z.union([
  z.object({ dry_run: z.literal(true) }),
  z.object({ sweep: z.object({ dry_run: z.literal(true) }) }),
]);

/** To be called before; what it answers is told the answer. */
export async function changesNothing(scene: Scene): Promise<(answer: Answer | undefined) => Promise<void>> {
  const { provider, database, books } = scene;
  const writes = () => provider.simulator.requests().filter(({ method }) => method !== "GET").length;
  const rows = async () => JSON.stringify(await database.batch(SPOILT));
  const before = { writes: writes(), rows: await rows() };
  return async (answer) => {
    if (writes() !== before.writes) books.broken.push("dry run: something was asked of the provider");
    if ((await rows()) !== before.rows) books.broken.push("dry run: something was written");
    if (answer?.status === 200 && !said.safeParse(JSON.parse(answer.text)).success)
      books.broken.push(`dry run: ${answer.text} does not say that it is one`);
  };
}
