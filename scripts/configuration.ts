// mayfly.config.ts as the Worker gets it: bundled, since a profile's cloud-init may be imported from a file beside it.
import { join } from "node:path";
import { build, type Loader } from "esbuild";
import * as z from "zod";

/** What wrangler.toml's [[rules]] say of imports, for esbuild. */
export const TEXT_IMPORTS: Record<string, Loader> = { ".yaml": "text", ".yml": "text" };

const FILE = join(import.meta.dirname, "../mayfly.config.ts");

const exported = z.object({ default: z.looseObject({}) });

/** What `mayfly.config.ts` exports; whether it can be used, `verifyDeployment` finds out. Rejects where it cannot be bundled or run. */
export async function loadConfiguration(file = FILE): Promise<object> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["worker", "import"],
    loader: TEXT_IMPORTS,
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  const module: unknown = await import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
  const { success, data } = exported.safeParse(module);
  if (!success) throw new Error(`${file} must have a default export: what defineConfig is given`);
  return data.default;
}
