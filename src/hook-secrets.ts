import { faultInSecret } from "./auth/senders.ts";
import { pasted } from "./config.ts";
import type { Hook } from "./hooks/hook.ts";
import { Misconfigured } from "./machine/misconfigured.ts";

/**
 * The secrets of a hook in an environment: the one that its entry names, and while it is set the one before, under the same name with
 * `_OLD` behind. Throws {@link Misconfigured} with the setting that is missing or cannot be used.
 */
export function readHookSecrets(env: unknown, { name, sender, secret }: Hook): readonly string[] {
  const current = read(env, secret, sender);
  if (current === null) throw new Misconfigured(secret, `must be set: it is the secret of the hook ${name}`);
  const old = read(env, `${secret}_OLD`, sender);
  return old === null ? [current] : [current, old];
}

function read(env: unknown, setting: string, sender: Hook["sender"]): string | null {
  const value = pasted(env, setting);
  if (value === undefined) return null;
  if (typeof value !== "string") throw new Misconfigured(setting, "must be text");
  const fault = faultInSecret(sender, value);
  if (fault !== null) throw new Misconfigured(setting, fault);
  return value;
}
