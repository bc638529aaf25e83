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
  const body = JSON.stringify({ name, server_type, location: region, image: "debian-13" });
  const answer = await fetch(`${c.env.HCLOUD_ENDPOINT}/servers`, { method: "POST", headers, body });
  return c.json(made.parse(await answer.json()), 201);
});

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
