import type { Context } from "hono";
import { nameOfKey } from "../../auth/idempotency-key.ts";
import { checkName, parseRef, type Ref } from "../../machine/name.ts";
import { checkOrder } from "../../lifecycle/order.ts";
import { readsOfCreate } from "../../lifecycle/plan.ts";
import type { Attachment } from "../../machine/attachment.ts";
import { readAhead, type Reader } from "../edge/ahead.ts";
import type { AppEnv, Reads } from "../edge/app-env.ts";
import { decode, parseJson } from "../edge/body.ts";
import { HttpProblem } from "../edge/problem.ts";
import type { Api } from "../edge/route.ts";
import { machineBody, orderOf } from "./body.ts";
import { madeName } from "./create.ts";
import { filterOf, listQuery } from "./read.ts";

/** What each call about machines reads first: it comes with the answer to whose call it is. To be said before that is asked. */
export function readMachinesAhead(app: Api): void {
  app.put("/v1/machines/:ref", readAhead(create));
  app.post(
    "/v1/machines",
    readAhead(async (c) => {
      const key = c.req.header("Idempotency-Key");
      return create(c, key === undefined ? madeName(c) : await nameOfKey(key));
    }),
  );
  app.get("/v1/machines", readAhead(list));
  app.get("/v1/machines/:ref", readAhead(about((reads, { whose }, ref) => reads.machines.toShow(whose, ref))));
  for (const act of ["renew", "attach_to_network"]) app.post(`/v1/machines/:ref/${act}`, readAhead(meant));
  // A tombstone is written before the machine is looked for.
  app.delete(
    "/v1/machines/:ref",
    readAhead((c, ref) => (c.req.query("tombstone") === undefined ? meant(c, ref) : null)),
  );
}

/** Something of the one machine that a path names. */
const about =
  (ask: (reads: Reads, reader: Reader, ref: Ref) => Promise<unknown>) => (_: Context<AppEnv>, text: string) => {
    const ref = parseRef(text);
    return ref.ok ? (reads: Reads, reader: Reader) => [ask(reads, reader, ref.value)] : null;
  };

const meant = about((reads, { whose }, ref) =>
  ref.by === "name" ? reads.machines.byName(whose, ref.name) : reads.machines.byUid(ref.uid),
);

/** A page that is told from a moment on is another at each moment, and cannot be known before. */
function list(c: Context<AppEnv>) {
  const asked = Object.entries(c.req.queries()).map(([key, values]) => [key, values.length === 1 ? values[0] : values]);
  const { success, data } = listQuery.safeParse(Object.fromEntries(asked));
  if (!success || data.since !== undefined) return null;
  return (reads: Reads, { listed }: Reader) => [reads.machines.list(filterOf(data, listed, 0))];
}

async function create(c: Context<AppEnv>, text: string) {
  const name = checkName(text);
  if (!name.ok) return null;
  const told = { name: name.value, attachments: await attachmentsOf(c) };
  return (reads: Reads, { whose }: Reader) => [...readsOfCreate(c.get("scope"), reads, whose, told), reads.lock.read()];
}

/** A body that is larger is not looked into for a caller whom nobody knows yet. */
const MOST_BYTES = 32 * 1024;
const NAMING = ["profile", "ssh_keys", "firewalls", "networks"];
const mayName = (json: unknown): boolean =>
  typeof json === "object" && json !== null && NAMING.some((field) => field in json);

/** What a body, or its profile, says that the machine is to use. Of one that is refused nothing: why, its reader tells. */
async function attachmentsOf(c: Context<AppEnv>): Promise<readonly Attachment[]> {
  const bytes = await c.req.arrayBuffer();
  const read = (): readonly Attachment[] => {
    const json = parseJson(decode(bytes));
    const { data } = mayName(json) ? machineBody.safeParse(json) : {};
    const checked = data && checkOrder(orderOf(data), c.get("scope").rules);
    return checked?.ok === true ? checked.value.attachments : [];
  };
  try {
    return bytes.byteLength > MOST_BYTES ? [] : read();
  } catch (error) {
    if (error instanceof HttpProblem) return [];
    throw error;
  }
}
