// The settings that a deploy takes along.
import { join } from "node:path";
import * as z from "zod";

const FILE = join(import.meta.dirname, "../wrangler.toml");

const vars = z.record(z.string(), z.json());
export type Vars = z.infer<typeof vars>;

/** What stands in `[vars]` of wrangler.toml, by name. */
export async function readVars(): Promise<Vars> {
  // Only when it is asked for: wrangler takes seconds to load.
  const { unstable_readConfig: readConfig } = await import("wrangler");
  return z.object({ vars }).parse(readConfig({ config: FILE }, { hideWarnings: true })).vars;
}
