import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { SETTINGS } from "./src/config.ts";
import type { PropertyOrder } from "./test/property-order.ts";

process.env["WRANGLER_LOG"] ??= "error";
process.env["WRANGLER_HIDE_BANNER"] ??= "true";
/** What a deployment has set in wrangler.toml is no matter of the tests: an empty one counts as not set. */
const unset = Object.fromEntries(SETTINGS.map((name) => [name, ""]));
const secrets = {
  HCLOUD_TOKEN: "canary-hcloud-token",
  ADMIN_TOKEN: "admin-token-of-these-tests-0123456789",
  INSTALLATION: "test-installation-1",
};
/** What properties are to try: `PROPERTY_SEED`, and `PROPERTY_PATH` within it; by chance where neither is said. */
const { PROPERTY_SEED: seed = "", PROPERTY_PATH: path = "" } = process.env;
if (!/^(-?\d+)?$/.test(seed) || (path !== "" && seed === ""))
  throw new Error("PROPERTY_SEED must be a whole number, and PROPERTY_PATH goes with it");
const property: PropertyOrder = { ...(seed !== "" && { seed: Number(seed) }), ...(path !== "" && { path }) };
const provide = { property };

/** Several times what any test takes that names no limit of its own: a slow machine is no failure. */
const LIMIT_MS = 120_000;

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            main: "./test/simulation/main.ts",
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              durableObjects: { SIMDB: { className: "SimDb", useSQLite: true } },
              bindings: { ...unset, ...secrets, TEST_MIGRATIONS: await readD1Migrations("./migrations") },
              // Nothing may leave: a fetch that no test has taken over is loud.
              outboundService: (request: { url: string }) => {
                throw new Error(`unexpected outbound fetch: ${request.url}`);
              },
            },
          })),
        ],
        test: {
          name: "worker",
          provide,
          include: ["test/**/*.test.ts"],
          // `scripts/test.ts` runs these by themselves, and leaves them out of its other lanes: an option cannot, for the project's own word counts.
          exclude: ["test/e2e/**", ...(process.env["LONG_TESTS"] ?? "").split(",")].filter((one) => one !== ""),
          setupFiles: ["./test/setup.ts"],
          testTimeout: LIMIT_MS,
          // One workerd for all files: setup.ts empties the database before each test instead.
          isolate: false,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "e2e",
          provide,
          setupFiles: ["./test/e2e/setup.ts"],
          include: ["test/e2e/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: LIMIT_MS,
          hookTimeout: LIMIT_MS,
        },
      },
    ],
  },
});
