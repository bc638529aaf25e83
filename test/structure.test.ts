import { describe, expect, it } from "vitest";

const sources: Record<string, string> = import.meta.glob("../src/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Which folder may import which; a file at the top stands for itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  machine: [],
  net: [],
  driver: ["machine", "net"],
  store: ["machine"],
  lifecycle: ["machine", "driver", "store", "auth"],
  reaper: ["machine", "driver", "store", "lifecycle"],
  hooks: ["machine", "store", "lifecycle", "auth", "reaper"],
  auth: ["machine", "store", "net"],
  http: ["machine", "lifecycle", "reaper", "auth", "store", "hooks"],
  "brakes.ts": ["http", "lifecycle", "log.ts"],
  "log.ts": [],
  "config.ts": ["machine", "auth"],
  "environment.ts": [],
  "configuration-entries.ts": ["machine", "auth", "http"],
  "hook-entries.ts": ["machine", "auth", "hooks", "configuration-entries.ts"],
  "hook-secrets.ts": ["machine", "auth", "hooks", "config.ts"],
  "deployment.ts": [
    "machine",
    "auth",
    "lifecycle",
    "hooks",
    "http",
    "config.ts",
    "configuration-entries.ts",
    "hook-entries.ts",
  ],
  "providers.ts": ["machine", "driver", "config.ts"],
  "runtime.ts": ["log.ts"],
  "invocation.ts": [
    "store",
    "lifecycle",
    "reaper",
    "auth",
    "hooks",
    "http",
    "brakes.ts",
    "environment.ts",
    "config.ts",
    "deployment.ts",
    "hook-secrets.ts",
    "providers.ts",
    "runtime.ts",
  ],
  "index.ts": [
    "mayfly.config.ts",
    "machine",
    "driver",
    "store",
    "lifecycle",
    "reaper",
    "auth",
    "http",
    "environment.ts",
    "config.ts",
    "log.ts",
    "providers.ts",
    "runtime.ts",
    "invocation.ts",
  ],
};

const placeOf = (path: string): string => path.split("/")[0] ?? "";
const files = Object.entries(sources).map(([path, text]) => ({ path: path.replace("../src/", ""), text }));

function importsOf({ path, text }: { path: string; text: string }): string[] {
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map((match) => match[1] ?? "");
  return specifiers.map((specifier) =>
    specifier.startsWith(".") ? new URL(specifier, `file:///${path}`).pathname.slice(1) : specifier,
  );
}
const oursOf = (file: { path: string; text: string }): string[] =>
  importsOf(file).filter((specifier) => specifier.endsWith(".ts"));
const packagesOf = (file: { path: string; text: string }): string[] =>
  importsOf(file).filter((specifier) => !/\.(?:ts|json)$/.test(specifier));

const folderOf = (path: string): string => path.split("/").slice(0, -1).join("/");
/** Without comments and without what imports name. */
const codeOf = (text: string): string => text.replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$|\bfrom "[^"]*"/gm, "");

/** The first way round that arrows make, as `a > b > a`; null where there is none. */
function circleIn(arrows: ReadonlyMap<string, ReadonlySet<string>>): string | null {
  const done = new Set<string>();
  const walk = (from: string, trail: readonly string[]): string | null => {
    if (trail.includes(from)) return [...trail.slice(trail.indexOf(from)), from].join(" > ");
    if (done.has(from)) return null;
    for (const to of arrows.get(from) ?? []) {
      const circle = walk(to, [...trail, from]);
      if (circle !== null) return circle;
    }
    done.add(from);
    return null;
  };
  for (const from of arrows.keys()) {
    const circle = walk(from, []);
    if (circle !== null) return circle;
  }
  return null;
}

describe("the shape of src/", () => {
  it("is all known here: every file lies in a place with a rule", () => {
    expect(files.length).toBeGreaterThan(40);
    expect([...new Set(files.map(({ path }) => placeOf(path)))].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it("P11: arrows point one way, and the driver contract knows no driver", () => {
    const wrong = files.flatMap((file) =>
      oursOf(file)
        .filter((target) => placeOf(target) !== placeOf(file.path))
        .filter((target) => !MAY_IMPORT[placeOf(file.path)]?.includes(placeOf(target)))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
    const contract = files.find(({ path }) => path === "driver/driver.ts");
    expect(contract && importsOf(contract).filter((target) => target.startsWith("driver/"))).toEqual([]);
  });

  it("has no circle, neither of files nor of folders, of which one within another counts by itself", () => {
    expect(
      circleIn(
        new Map([
          ["a", new Set(["b"])],
          ["b", new Set(["c"])],
          ["c", new Set(["b"])],
        ]),
      ),
    ).toBe("b > c > b");
    expect(circleIn(new Map(files.map((file) => [file.path, new Set(oursOf(file))])))).toBeNull();
    const arrows = new Map<string, Set<string>>();
    for (const file of files)
      for (const target of oursOf(file)) {
        const [from, to] = [folderOf(file.path), folderOf(target)];
        if (from !== to) arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
      }
    expect(arrows.get("http")).toContain("http/machines");
    expect(circleIn(arrows)).toBeNull();
  });

  it("writes nothing in http/: the store there is one that only reads, and only its reading methods are called", () => {
    const http = files.filter(({ path }) => path.startsWith("http/"));
    // The scope has a store that writes, for use cases: here nobody says its name, save to import a type.
    expect(http.filter(({ text }) => /(?<!no-)\bstore\b/.test(codeOf(text))).map(({ path }) => path)).toEqual([]);
    const calls = http.flatMap(({ text }) => [...text.matchAll(/\breads\.(\w+\.\w+)/g)].map(([, call]) => call ?? ""));
    expect([...new Set(calls)].toSorted((a, b) => a.localeCompare(b))).toEqual([
      "deliveries.list",
      "events.list",
      "lock.read",
      "machines.byName",
      "machines.byUid",
      "machines.list",
      "machines.toShow",
      "resources.list",
      "resources.users",
      "room.bytes",
      "settings.installation",
      "sweeps.list",
      "tokens.list",
    ]);
  });

  it("says no path and no setting in lifecycle/, whose callers are not all on HTTP", () => {
    const words = /\/v1\/|HCLOUD|\bINSTALLATION\b|PREVIOUS_INSTALLATIONS|\b(?:GET|PUT|POST|DELETE)\b/;
    const speakers = files.filter(({ path, text }) => path.startsWith("lifecycle/") && words.test(text));
    expect(speakers.map(({ path }) => path)).toEqual([]);
  });

  it("I2: deletes a machine in one place alone, which compares what was just read", () => {
    const deleters = files.filter(
      ({ path, text }) => !/^driver\/(hetzner|memory)/.test(path) && /\bdriver\.destroy\(/.test(codeOf(text)),
    );
    expect(deleters.map(({ path }) => path)).toEqual(["driver/destroy-seen.ts"]);
  });

  it("names concrete drivers in the composition root alone", () => {
    const namers = files.filter((file) =>
      importsOf(file).some((target) => /^driver\/(hetzner|memory)/.test(target) && !file.path.startsWith("driver/")),
    );
    expect(namers.map(({ path }) => path)).toEqual(["providers.ts"]);
  });

  it("imports no Node API, nothing that makes the document, and no named `z`, which would drag in every locale", () => {
    const modules = new Set(files.flatMap(packagesOf));
    expect([...modules].filter((name) => name.startsWith("node:"))).toEqual([]);
    expect([...modules].map((name) => name.replace(/^hono\/.*/, "hono")).sort()).toEqual(
      expect.arrayContaining(["hono", "jose", "zod"]),
    );
    expect([...modules].filter((name) => name.includes("openapi"))).toEqual([]);
    expect(files.filter(({ text }) => /import \{[^}]*\bz\b[^}]*\} from "zod"/.test(text))).toEqual([]);
  });

  it("keeps SQL in store/, and clocks and chance out of the rules", () => {
    const outside = files.filter(
      ({ path, text }) => !path.startsWith("store/") && /\.prepare\(|\bFROM machines\b/.test(text),
    );
    expect(outside.map(({ path }) => path)).toEqual([]);
    const hidden = files.filter(
      ({ path, text }) =>
        path !== "index.ts" && /Date\.now\(|new Date\(\)|Math\.random|randomUUID|getRandomValues/.test(text),
    );
    expect(hidden.map(({ path }) => path)).toEqual([]);
  });

  it("reaches the outside in one place per kind, and past no meter", () => {
    const namers = (word: RegExp) => files.filter(({ text }) => word.test(codeOf(text))).map(({ path }) => path);
    expect(namers(/\bglobalThis\b/)).toEqual(["index.ts"]);
    expect(namers(/\bruntime\.(?:fetch|sleep)\b/)).toEqual(["invocation.ts"]);
    expect(namers(/\benv\.DB\b/)).toEqual(["index.ts", "invocation.ts"]);
    expect(namers(/\bopenSql\(/)).toEqual(["store/db.ts", "store/store.ts"]);
    expect(namers(/\bonStatements\(/)).toEqual(["store/db.ts"]);
  });

  it("keeps the provider's words in its driver", () => {
    const leaks = files.filter(
      ({ path, text }) =>
        !path.startsWith("driver/hetzner/") && /user_data|root_password|\/servers\b|start_after_create/.test(text),
    );
    expect(leaks.map(({ path }) => path)).toEqual([]);
  });
});
