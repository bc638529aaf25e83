import { build } from "esbuild";
import { startProvider } from "./bench/provider.ts";
import { startWorld } from "./bench/world.ts";
import { seedMachines } from "./bench/seed.ts";
import { freePort, inspect } from "./bench/inspector.ts";
import { workerdMs } from "./bench/workerd.ts";
const out = await build({
  entryPoints: ["src/index.ts"],
  bundle: true,
  write: false,
  format: "esm",
  target: "es2024",
  minify: false,
  keepNames: false,
  conditions: ["workerd", "worker", "browser"],
  mainFields: ["browser", "module", "main"],
  loader: { ".yaml": "text" },
});
const provider = await startProvider();
await provider.reset();
const port = await freePort();
const which = process.argv[2] ?? "create";
const noProf = process.argv[3] === "cpu";
const world = await startWorld(
  { mayfly: out.outputFiles[0]!.text, provider } as never,
  noProf ? {} : { inspectorPort: port },
);
const token = await world.mint();
const live = which === "get" || which === "list" ? 100 : 10;
await seedMachines(world, provider, live);
await world.db
  .prepare("UPDATE locks SET last_good_cron_at = ?")
  .bind(Date.now() + 1e6)
  .run();
const body = { server_type: "cx23", region: "fsn1", ttl: "1h" };
let n = 0;
const act =
  which === "create"
    ? () => world.call("PUT", `/v1/machines/x-${n++}`, 201, body, token)
    : which === "get"
      ? () => world.call("GET", `/v1/machines/m-${n++ % live}`, 200, undefined, token)
      : () => world.call("GET", "/v1/machines?per_page=50", 200, undefined, token);
const clear = async () => {
  if (which === "create") {
    await world.db.prepare("DELETE FROM machines WHERE name LIKE 'x-%'").run();
  }
};
for (let i = 0; i < 300; i++) {
  if (i % 50 === 0) await clear();
  await act();
}
await clear();
if (noProf) {
  for (let r = 0; r < 5; r++) {
    const c = workerdMs(),
      t = performance.now();
    for (let i = 0; i < 100; i++) await act();
    console.log(which, "cpu", ((workerdMs() - c) / 100).toFixed(2), "wall", ((performance.now() - t) / 100).toFixed(2));
    await clear();
  }
  await world.stop();
  await provider.stop();
  process.exit(0);
}
const inspector = await inspect(port);
await inspector.send("Profiler.enable");
await inspector.send("Profiler.setSamplingInterval", { interval: 100 });
const N = 100;
let total = 0,
  cpu = 0,
  wall = 0;
const self = new Map<string, number>(),
  inc = new Map<string, number>();
for (let b = 0; b < 6; b++) {
  await inspector.send("Profiler.start");
  const t = performance.now(),
    c = workerdMs();
  for (let i = 0; i < N; i++) await act();
  wall += performance.now() - t;
  cpu += workerdMs() - c;
  const { profile } = (await inspector.send("Profiler.stop")) as any;
  const nodes = new Map<number, any>(profile.nodes.map((x: any) => [x.id, x]));
  const parent = new Map<number, number>();
  for (const x of profile.nodes) for (const k of x.children ?? []) parent.set(k, x.id);
  for (const s of profile.samples) {
    const f = nodes.get(s).callFrame;
    if (["(idle)", "(root)"].includes(f.functionName)) continue;
    total++;
    const key = `${f.functionName || "anon"}:${f.lineNumber}`;
    self.set(key, (self.get(key) ?? 0) + 1);
    const seen = new Set<string>();
    for (let x: number | undefined = s; x !== undefined; x = parent.get(x)) {
      const g = nodes.get(x).callFrame;
      seen.add(`${g.functionName || "anon"}:${g.lineNumber}:${(g.url ?? "").slice(0, 22)}`);
    }
    for (const k of seen) inc.set(k, (inc.get(k) ?? 0) + 1);
  }
  await clear();
}
const M = 6 * N;
console.log(
  which,
  "wall ms",
  (wall / M).toFixed(2),
  "workerd cpu ms",
  (cpu / M).toFixed(2),
  "user isolate samples/op",
  (total / M).toFixed(2),
);
const top = (m: Map<string, number>, k: number) =>
  [...m]
    .sort((a, b) => b[1] - a[1])
    .slice(0, k)
    .map(([x, v]) => `${x} ${((v / total) * 100).toFixed(1)}%`)
    .join("\n");
console.log(top(self, 30));
console.log("--- inclusive");
console.log(top(inc, 70));
(await import("node:fs")).writeFileSync("/tmp/prof/bundle.js", out.outputFiles[0]!.text);
inspector.close();
await world.stop();
await provider.stop();
process.exit(0);
