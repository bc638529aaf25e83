// mayfly.config.ts as the Worker gets it: bundled, since a profile's cloud-init may be imported from a file beside it.
import { join, relative } from "node:path";
import { build, type Loader } from "esbuild";
import * as z from "zod";
import type { Config } from "../src/config.ts";
import type { Deployment } from "../src/deployment.ts";
import { formatDuration, parseDuration } from "../src/machine/duration.ts";

/** What wrangler.toml's [[rules]] say of imports, for esbuild. */
export const TEXT_IMPORTS: Record<string, Loader> = { ".yaml": "text", ".yml": "text" };

const FILE = join(import.meta.dirname, "../mayfly.config.ts");

const exporting = z.object({ default: z.unknown().refine((value) => value !== undefined) });
const configuration = z.looseObject({});

/** What `mayfly.config.ts` exports; whether it can be used, `verifyDeployment` finds out. Rejects where it cannot be bundled or run. */
export async function loadConfiguration(file = FILE): Promise<object> {
  const name = relative(process.cwd(), file);
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
  const module = exporting.safeParse(await run(outputFiles[0]?.text ?? "", name));
  if (!module.success) throw new Error(`${name} must have a default export: what defineConfig is given`);
  const read = configuration.safeParse(module.data.default);
  if (!read.success) throw new Error(`${name} must export an object: what defineConfig is given, { policies, … }`);
  return read.data;
}

async function run(text: string, name: string): Promise<unknown> {
  try {
    return await import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
  } catch (error) {
    throw new Error(`${name} cannot be run: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** A sentence for each length that says more than `MAX_AGE` lets come true. */
export function tooLong({ policies, profiles }: Deployment, { maxAgeMs }: Config): string[] {
  const isMore = (length: number | null): boolean => length !== null && length > maxAgeMs;
  const most = `longer than MAX_AGE, which is ${formatDuration(maxAgeMs)}`;
  return [
    ...policies
      .filter(({ longestMs }) => isMore(longestMs))
      .map(({ name }) => `note: policies.${name}.longest is ${most}: no machine lives so long`),
    ...[...profiles]
      .filter(([, { ttl }]) => ttl !== undefined && isMore(parseDuration(ttl)))
      .map(([name]) => `note: profiles.${name}.ttl is ${most}: whoever names no other ttl is refused`),
  ];
}
