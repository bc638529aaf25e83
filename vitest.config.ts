import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { SETTINGS } from "./src/config.ts";

process.env["WRANGLER_LOG"] ??= "error";
process.env["WRANGLER_HIDE_BANNER"] ??= "true";
/** What a deployment has set in wrangler.toml is no matter of the tests: an empty one counts as not set. */
const unset = Object.fromEntries(SETTINGS.map((name) => [name, ""]));
const secrets = {
  HCLOUD_TOKEN: "canary-hcloud-token",
  ADMIN_TOKEN: "admin-token-of-these-tests-0123456789",
  INSTALLATION: "test-installation-1",
};

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
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
          setupFiles: ["./test/setup.ts"],
          // A slow machine is no failure.
          testTimeout: 120_000,
          // One workerd for all files: setup.ts empties the database before each test instead.
          isolate: false,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
