import type { Policy } from "./policy.ts";
import type { Principal } from "./principal.ts";

/** What a hook keeps its machines under: one key for each repository or project, so that equal names of two never meet. */
export const hookOwner = (hook: string, source: string | null): string =>
  source === null ? `hook.${hook}` : `hook.${hook}.${source}`;

/** Whoever signed an event, for one thing that it asks for. Its limits count over all that come under the hook's policy. */
export const hookCaller = (
  { hook, source, delivery }: { readonly hook: string; readonly source: string | null; readonly delivery: string },
  policy: Policy,
): Principal => ({
  kind: "hook",
  owner: hookOwner(hook, source),
  account: `pol.${policy.name}`,
  policy,
  evidence: { by: "hook", hook, delivery },
  seesAll: false,
});
