import { describe, expect, it } from "vitest";

const sources: Record<string, string> = import.meta.glob("../src/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Which folder may import which; a file at the top stands for itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  machine: [],
  driver: ["machine"],
  store: ["machine"],
  lifecycle: ["machine", "driver", "store", "auth"],
  reaper: ["machine", "driver", "store", "lifecycle"],
  auth: ["machine", "store"],
  http: ["machine", "lifecycle", "reaper", "auth", "store", "config.ts", "providers.ts", "runtime.ts", "invocation.ts"],
  "log.ts": [],
  "config.ts": ["machine"],
  "providers.ts": ["machine", "driver", "config.ts"],
  "runtime.ts": ["log.ts"],
  "invocation.ts": ["store", "lifecycle", "reaper", "auth", "config.ts", "providers.ts", "runtime.ts"],
  "index.ts": [
    "machine",
    "driver",
    "store",
    "lifecycle",
    "reaper",
    "auth",
    "http",
    "config.ts",
    "log.ts",
    "providers.ts",
    "runtime.ts",
    "invocation.ts",
  ],
  "empty.ts": [],
};

const placeOf = (path: string): string => path.split("/")[0] ?? "";
const files = Object.entries(sources).map(([path, text]) => ({ path: path.replace("../src/", ""), text }));

function importsOf({ path, text }: { path: string; text: string }): string[] {
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map((match) => match[1] ?? "");
  return specifiers.map((specifier) =>
    specifier.startsWith(".") ? new URL(specifier, `file:///${path}`).pathname.slice(1) : specifier,
  );
}
const packagesOf = (file: { path: string; text: string }): string[] =>
  importsOf(file).filter((specifier) => !specifier.endsWith(".ts"));

describe("the shape of src/", () => {
  it("is all known here: every file lies in a place with a rule", () => {
    expect(files.length).toBeGreaterThan(40);
    expect([...new Set(files.map(({ path }) => placeOf(path)))].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it("P11: arrows point one way, and the driver contract knows no driver", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.endsWith(".ts") && placeOf(target) !== placeOf(file.path))
        .filter((target) => !MAY_IMPORT[placeOf(file.path)]?.includes(placeOf(target)))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
    const contract = files.find(({ path }) => path === "driver/driver.ts");
    expect(contract && importsOf(contract).filter((target) => target.startsWith("driver/"))).toEqual([]);
  });

  it("names concrete drivers in the composition root alone", () => {
    const namers = files.filter((file) =>
      importsOf(file).some((target) => /^driver\/(hetzner|memory)/.test(target) && !file.path.startsWith("driver/")),
    );
    expect(namers.map(({ path }) => path)).toEqual(["providers.ts"]);
  });

  it("imports no Node API and no named `z`, which would drag in every locale", () => {
    const modules = new Set(files.flatMap(packagesOf));
    expect([...modules].filter((name) => name.startsWith("node:"))).toEqual([]);
    expect([...modules].map((name) => name.replace(/^hono\/.*/, "hono")).sort()).toEqual(
      expect.arrayContaining(["@hono/zod-openapi", "hono", "zod"]),
    );
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

  it("keeps the provider's words in its driver", () => {
    const leaks = files.filter(
      ({ path, text }) =>
        !path.startsWith("driver/hetzner/") && /user_data|root_password|\/servers\b|start_after_create/.test(text),
    );
    expect(leaks.map(({ path }) => path)).toEqual([]);
  });
});
