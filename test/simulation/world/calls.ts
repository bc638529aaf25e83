/** Which calls of the provider a fault can be about. */
import type { ProviderFault } from "../history.ts";

type On = ProviderFault["on"];

export const CALLS: Readonly<Record<On, { readonly method: string; readonly path: string }>> = {
  create: { method: "POST", path: "^/v1/servers$" },
  list: { method: "GET", path: "^/v1/servers$" },
  look: { method: "GET", path: "^/v1/servers/\\d+$" },
  relabel: { method: "PUT", path: "^/v1/servers/\\d+$" },
  destroy: { method: "DELETE", path: "^/v1/servers/\\d+$" },
  make: { method: "POST", path: "^/v1/(firewalls|networks|ssh_keys)$" },
  unmake: { method: "DELETE", path: "^/v1/(firewalls|networks|ssh_keys)/" },
  read: { method: "GET", path: "^/v1/(firewalls|networks|ssh_keys)" },
  catalogue: { method: "GET", path: "^/v1/(server_types|pricing|locations)" },
};

const PATTERNS = Object.entries(CALLS).map(([on, { method, path }]) => ({ on, method, path: new RegExp(path) }));

/** Which of them a call is; null of any other. */
export function callOf({ method, url }: Pick<Request, "method" | "url">): string | null {
  const { pathname } = new URL(url);
  return PATTERNS.find((one) => one.method === method && one.path.test(pathname))?.on ?? null;
}
