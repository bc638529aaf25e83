/**
 * Reads an environment once: what one says does not change, because other settings come with another version, and so with another
 * environment. Where reading throws, nothing is remembered.
 */
export function oncePerEnvironment<T>(read: (env: Env) => T): (env: Env) => T {
  const known = new WeakMap<Env, { readonly said: T }>();
  return (env) => {
    const kept = known.get(env) ?? { said: read(env) };
    known.set(env, kept);
    return kept.said;
  };
}
