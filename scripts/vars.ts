// The settings that a deploy takes along.
import { join } from "node:path";
import * as z from "zod";

const FILE = join(import.meta.dirname, "../wrangler.toml");

const vars = z.record(z.string(), z.json());
export type Vars = z.infer<typeof vars>;

/** A value of `[vars]` as a text, as settings are read: what is none goes as JSON. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** What stands in `[vars]` of wrangler.toml, by name. */
export async function readVars(): Promise<Vars> {
  // Only when it is asked for: wrangler takes seconds to load.
  const { unstable_readConfig: readConfig } = await import("wrangler");
  return z.object({ vars }).parse(readConfig({ config: FILE }, { hideWarnings: true })).vars;
}

const bindings = z.record(z.string(), z.looseObject({ value: z.json() }));
const secrets = z.object({ required: z.array(z.string()) });

/** What `wrangler dev` gives the Worker: what .dev.vars or the environment says goes before `[vars]`; and the secrets that it asks for. */
export async function readDevVars(): Promise<{ vars: Record<string, string>; required: readonly string[] }> {
  const { unstable_readConfig: readConfig, unstable_getVarsForDev: varsForDev } = await import("wrangler");
  const read = z.object({ vars, secrets }).parse(readConfig({ config: FILE }, { hideWarnings: true }));
  const given = bindings.parse(varsForDev(FILE, undefined, read.vars, undefined, true, read.secrets));
  const texts = Object.entries(given).map(([name, { value }]) => [name, textOf(value)] as const);
  return { vars: Object.fromEntries(texts), required: read.secrets.required };
}
