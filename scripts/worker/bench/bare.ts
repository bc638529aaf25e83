// What mayfly is held against: Hono alone, doing the least that could be called the same work.
import { Hono } from "hono";
import * as z from "zod";

const app = new Hono<{ Bindings: Env }>();
const order = z.object({ server_type: z.string(), region: z.string() });
const made = z.object({ server: z.object({ id: z.number(), name: z.string(), status: z.string() }) });

const readOne = (db: D1Database, name: string) =>
  db.prepare("SELECT * FROM machines WHERE owner = ? AND name = ?").bind("tok.alice", name).first();

app.get("/nothing", (c) => c.text("nothing"));

/** `?trips=3`: the same read so often. */
app.get("/read/:name", async (c) => {
  const trips = Number(c.req.query("trips") ?? 1);
  for (let trip = 1; trip < trips; trip++) await readOne(c.env.DB, c.req.param("name"));
  const machine = await readOne(c.env.DB, c.req.param("name"));
  return machine === null ? c.json({}, 404) : c.json({ machine });
});

app.get("/list", async (c) => {
  const trips = Number(c.req.query("trips") ?? 1);
  for (let trip = 1; trip < trips; trip++) await readOne(c.env.DB, "m-1");
  const { results } = await c.env.DB.prepare("SELECT * FROM machines WHERE owner = ? LIMIT 50").bind("tok.alice").all();
  return c.json({ machines: results });
});

/** One insert and one call to the provider; `?trips=3&calls=2`: so many of each. */
app.put("/make/:name", async (c) => {
  const { name } = c.req.param();
  const { server_type, region } = order.parse(await c.req.json());
  const trips = Number(c.req.query("trips") ?? 1);
  const calls = Number(c.req.query("calls") ?? 1);
  await insert(c.env.DB, name);
  for (let trip = 1; trip < trips; trip++) await readOne(c.env.DB, name);
  const headers = { Authorization: `Bearer ${c.env.HCLOUD_TOKEN}`, "Content-Type": "application/json" };
  for (let call = 1; call < calls; call++)
    await (await fetch(`${c.env.HCLOUD_ENDPOINT}/servers?name=${name}`, { headers })).text();
  return c.json(made.parse(await lend(c.env, name, { server_type, location: region })), 201);
});

/**
 * What a create writes, as it writes it, and nothing decided: seven reads in one trip, a machine and its event in another, and both once more
 * after the call to the provider. Nobody who keeps the same record does less.
 */
app.put("/lend/:name", async (c) => {
  const { name } = c.req.param();
  const { server_type, region } = order.parse(await c.req.json());
  const db = c.env.DB;
  const read = db.prepare("SELECT * FROM machines WHERE owner = ? AND name = ?").bind("bare", name);
  const tell = (event: string) =>
    db
      .prepare("INSERT INTO events (at, uid, owner, account, name, event) VALUES (?, ?, 'bare', 'bare', ?, ?)")
      .bind(Date.now(), name, name, event);
  await db.batch(Array.from({ length: READS_OF_A_CREATE }, () => read));
  const machine = db.prepare(
    `INSERT INTO machines (uid, owner, account, name, provider, provider_name, installation, credential, phase, status, spec_sha256,
      server_type, region, image, requested_at, expires_at, max_until)
     VALUES (?1, 'bare', 'bare', ?1, 'hetzner', ?1, 'bare', '', 'requested', 'creating', '', ?2, ?3, 'debian-13', ?4, ?4, ?4)`,
  );
  await db.batch([machine.bind(name, server_type, region, Date.now()), tell("requested")]);
  const { server } = made.parse(await lend(c.env, name, { server_type, location: region }));
  const update = db.prepare(
    "UPDATE machines SET phase = 'active', status = 'running', provider_id = ?2, created_at = ?3, observed_at = ?3 WHERE uid = ?1",
  );
  await db.batch([tell("created"), update.bind(name, String(server.id), Date.now())]);
  return c.json({ server }, 201);
});
const READS_OF_A_CREATE = 7;

async function lend(env: Env, name: string, asked: object): Promise<unknown> {
  const headers = { Authorization: `Bearer ${env.HCLOUD_TOKEN}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name, image: "debian-13", ...asked });
  return (await fetch(`${env.HCLOUD_ENDPOINT}/servers`, { method: "POST", headers, body })).json();
}

/** One signature checked, one row written. */
app.post("/hook", async (c) => {
  const body = await c.req.arrayBuffer();
  const given = Uint8Array.fromHex(c.req.header("X-Hub-Signature-256")?.replace("sha256=", "") ?? "");
  const secret = new TextEncoder().encode(c.req.header("X-Secret") ?? "");
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  if (!(await crypto.subtle.verify("HMAC", key, given, body))) return c.json({}, 401);
  await insert(c.env.DB, crypto.randomUUID());
  return c.json({}, 202);
});

/** A table with one index beside its key. */
const insert = (db: D1Database, name: string) =>
  db.prepare("INSERT INTO tombstones (owner, name, until) VALUES (?, ?, ?)").bind("bare", name, Date.now()).run();

export default app;
