import { startProvider } from "./bench/provider.ts";
import { startWorld } from "./bench/world.ts";
import { seedMachines } from "./bench/seed.ts";
import { workerdMs } from "./bench/workerd.ts";
const provider = await startProvider();
await provider.reset();
const code = `
const cols = "uid, owner, account, name, provider, provider_id, status, reason, server_type, region, arch, image, public_ipv4, public_ipv6, private_ipv4, labels, created_at, requested_at, expires_at, max_until, observed_at, destroyed_at, price_micro_eur, price_month_micro_eur, ipv4_micro_eur, ipv4_month_micro_eur, has_ipv4, phase, next_try_at, looked_at";
const tok = (db) => db.prepare("SELECT * FROM tokens WHERE secret_sha256 = ?").bind("x");
const cnt = (db) => db.prepare("SELECT count(*) AS total FROM machines WHERE owner = ?").bind("tok.alice");
const list = (db) => db.prepare("SELECT * FROM machines WHERE owner = ? LIMIT 50").bind("tok.alice");
const few = (db) => db.prepare("SELECT " + cols + " FROM machines WHERE owner = ? LIMIT 50").bind("tok.alice");
const one = (db) => db.prepare("SELECT * FROM machines WHERE owner = ? AND name = ?").bind("tok.alice", "m-5");
export default { async fetch(r, env) { const k = new URL(r.url).searchParams.get("k"); const db = env.DB;
 if (k === "hello") return new Response("x");
 if (k === "one") return Response.json(await one(db).first());
 if (k === "one2") { const [a, b] = await db.batch([tok(db), one(db)]); return Response.json(b.results[0]); }
 if (k === "list") return Response.json((await list(db).all()).results);
 if (k === "list3") { const [a, b, c] = await db.batch([tok(db), cnt(db), list(db)]); return Response.json(c.results); }
 if (k === "few3") { const [a, b, c] = await db.batch([tok(db), cnt(db), few(db)]); return Response.json(c.results); }
 if (k === "few") return Response.json((await few(db).all()).results);
 if (k === "raw3") { const [a, b, c] = await db.batch([tok(db), cnt(db), db.prepare("SELECT json_group_array(json_array(" + cols + ")) AS j FROM (SELECT * FROM machines WHERE owner = ? LIMIT 50)").bind("tok.alice")]); return Response.json(JSON.parse(c.results[0].j)); }
 return new Response("?", {status: 500}); } }`;
const world = await startWorld({ mayfly: code, provider } as never, {});
await seedMachines(world, provider, 100);
const act = async (k: string) => {
  const r = await fetch(`${world.url}/?k=${k}`);
  const t = await r.text();
  if (!r.ok) throw new Error(t.slice(0, 300));
};
const kinds = process.argv.slice(2);
for (const k of kinds) for (let i = 0; i < 200; i++) await act(k);
const r: Record<string, number[]> = {};
for (let b = 0; b < 7; b++)
  for (const k of kinds) {
    const c = workerdMs();
    for (let i = 0; i < 150; i++) await act(k);
    (r[k] ??= []).push((workerdMs() - c) / 150);
  }
for (const k of kinds) {
  const s = r[k]!.sort((a, b) => a - b);
  console.log(k, s[0]!.toFixed(2), s[3]!.toFixed(2), s[6]!.toFixed(2));
}
await world.stop();
await provider.stop();
process.exit(0);
