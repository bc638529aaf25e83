/** How `hooks` of mayfly.config.ts is read. */
import * as z from "zod";
import { configName } from "./auth/issuers.ts";
import { parsed, refuse, refuseDropped } from "./configuration-entries.ts";
import { faultInHook, hookEntry, hookOf, type Hook } from "./hooks/hook.ts";
import { Misconfigured } from "./machine/misconfigured.ts";

/** Hooks by their names, or throws {@link Misconfigured} with the first entry and key that cannot be used. */
export function readHooks(given: unknown, known: Parameters<typeof faultInHook>[1]): ReadonlyMap<string, Hook> {
  const entries = parsed(z.record(z.string(), z.unknown(), "must be an object of hooks by name"), given, "hooks");
  refuseDropped(given, "hooks");
  const hooks = new Map<string, Hook>();
  for (const [name, entry] of Object.entries(entries)) {
    const key = `hooks.${name}`;
    parsed(configName, name, key);
    const read = parsed(hookEntry, entry, key);
    refuse(key, faultInHook(read, known));
    // Whoever may sign for the one could replay to the other.
    const other = [...hooks.values()].find(({ secret }) => secret === read.secret);
    if (other !== undefined)
      throw new Misconfigured(`${key}.secret`, `must be another: the hook ${other.name} has it already`);
    hooks.set(name, hookOf(name, read));
  }
  return hooks;
}
