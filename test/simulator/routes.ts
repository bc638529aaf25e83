import { getAction, getActionOfServer, getActions, listActionsOfServer, listServerActions } from "./actions.ts";
import {
  datacentersAreGone,
  emptyList,
  getImage,
  getLocation,
  getPricing,
  getServerType,
  listImages,
  listLocations,
  listServerTypes,
} from "./catalogue-routes.ts";
import type { Handler } from "./call.ts";
import { createServer } from "./create-server.ts";
import { deletePrimaryIp, getPrimaryIp, listPrimaryIps } from "./primary-ips.ts";
import { changeProtection, powerOff, powerOn, reboot, reset, shutdown } from "./server-actions.ts";
import { deleteServer, getServer, listServers, updateServer, withServer } from "./servers.ts";

type Methods = Partial<Record<string, Handler>>;

// `{id}` is a number; the document says so for every id in a path.
const TABLE: Record<string, Methods> = {
  "/servers": { GET: listServers, POST: createServer },
  "/servers/{id}": { GET: withServer(getServer), PUT: withServer(updateServer), DELETE: withServer(deleteServer) },
  "/servers/{id}/actions": { GET: withServer(listActionsOfServer) },
  "/servers/{id}/actions/{id}": { GET: withServer(getActionOfServer) },
  "/servers/{id}/actions/poweron": { POST: withServer(powerOn) },
  "/servers/{id}/actions/poweroff": { POST: withServer(powerOff) },
  "/servers/{id}/actions/shutdown": { POST: withServer(shutdown) },
  "/servers/{id}/actions/reboot": { POST: withServer(reboot) },
  "/servers/{id}/actions/reset": { POST: withServer(reset) },
  "/servers/{id}/actions/change_protection": { POST: withServer(changeProtection) },
  "/servers/actions": { GET: listServerActions },
  "/servers/actions/{id}": { GET: getAction },
  "/actions": { GET: getActions },
  "/actions/{id}": { GET: getAction },
  "/images": { GET: listImages },
  "/images/{id}": { GET: getImage },
  "/locations": { GET: listLocations },
  "/locations/{id}": { GET: getLocation },
  "/server_types": { GET: listServerTypes },
  "/server_types/{id}": { GET: getServerType },
  "/pricing": { GET: getPricing },
  "/datacenters": { GET: datacentersAreGone },
  "/datacenters/{id}": { GET: datacentersAreGone },
  "/ssh_keys": { GET: emptyList("ssh_keys") },
  "/networks": { GET: emptyList("networks") },
  "/firewalls": { GET: emptyList("firewalls") },
  "/primary_ips": { GET: listPrimaryIps },
  "/primary_ips/{id}": { GET: getPrimaryIp, DELETE: deletePrimaryIp },
  "/volumes": { GET: emptyList("volumes") },
};

/** Everything that this API can do, as a method and a path: for tests that have to reach it all. */
export const OPERATIONS: readonly string[] = Object.entries(TABLE).flatMap(([template, methods]) =>
  Object.keys(methods).map((method) => `${method} ${template}`),
);

const ROUTES = Object.entries(TABLE).map(([template, methods]) => {
  return { pattern: new RegExp(`^/v1${template.replaceAll("{id}", "(\\d+)")}$`), methods };
});

/** The path's handlers by method and the numbers in it, or undefined for a path the API does not have. */
export function findRoute(path: string): { methods: Methods; ids: number[] } | undefined {
  for (const { pattern, methods } of ROUTES) {
    const match = pattern.exec(path);
    if (match !== null) return { methods, ids: match.slice(1).map(Number) };
  }
  return undefined;
}
