import { getAction, getActionOf, getActions, listActionsAbout, listActionsOf } from "./actions.ts";
import {
  datacentersAreGone,
  emptyList,
  getLocation,
  getPricing,
  getServerType,
  listLocations,
  listServerTypes,
} from "./catalogue-routes.ts";
import type { Handler } from "./call.ts";
import { createServer } from "./create-server.ts";
import { applyToResources, removeFromResources, setRules } from "./firewall-actions.ts";
import {
  createFirewall,
  deleteFirewall,
  getFirewall,
  listFirewalls,
  updateFirewall,
  withFirewall,
} from "./firewalls.ts";
import {
  addRoute,
  addSubnet,
  changeIpRange,
  changeProtection as changeNetworkProtection,
  deleteRoute,
  deleteSubnet,
} from "./network-actions.ts";
import {
  createNetwork,
  deleteNetwork,
  getNetwork,
  listMembers,
  listNetworks,
  updateNetwork,
  withNetwork,
} from "./networks.ts";
import { changeProtection as changeImageProtection, createImage } from "./image-actions.ts";
import { deleteImage, getImage, listImages, updateImage, withImage, withOwnImage } from "./image-routes.ts";
import { deletePrimaryIp, getPrimaryIp, listPrimaryIps } from "./primary-ips.ts";
import { changeProtection, powerOff, powerOn, reboot, reset, shutdown } from "./server-actions.ts";
import { attachToNetwork, detachFromNetwork } from "./server-networks.ts";
import { deleteServer, getServer, listServers, updateServer, withServer } from "./servers.ts";
import { createSshKey, deleteSshKey, getSshKey, listSshKeys, updateSshKey, withSshKey } from "./ssh-keys.ts";

type Methods = Partial<Record<string, Handler>>;

// `{id}` is a number; the document says so for every id in a path.
const TABLE: Record<string, Methods> = {
  "/servers": { GET: listServers, POST: createServer },
  "/servers/{id}": { GET: withServer(getServer), PUT: withServer(updateServer), DELETE: withServer(deleteServer) },
  "/servers/{id}/actions": { GET: withServer(listActionsOf) },
  "/servers/{id}/actions/{id}": { GET: withServer(getActionOf) },
  "/servers/{id}/actions/poweron": { POST: withServer(powerOn) },
  "/servers/{id}/actions/poweroff": { POST: withServer(powerOff) },
  "/servers/{id}/actions/shutdown": { POST: withServer(shutdown) },
  "/servers/{id}/actions/reboot": { POST: withServer(reboot) },
  "/servers/{id}/actions/reset": { POST: withServer(reset) },
  "/servers/{id}/actions/change_protection": { POST: withServer(changeProtection) },
  "/servers/{id}/actions/attach_to_network": { POST: withServer(attachToNetwork) },
  "/servers/{id}/actions/detach_from_network": { POST: withServer(detachFromNetwork) },
  "/servers/{id}/actions/create_image": { POST: withServer(createImage) },
  "/servers/actions": { GET: listActionsAbout("server") },
  "/servers/actions/{id}": { GET: getAction },
  "/actions": { GET: getActions },
  "/actions/{id}": { GET: getAction },
  "/images": { GET: listImages },
  "/images/{id}": { GET: withImage(getImage), PUT: withOwnImage(updateImage), DELETE: withOwnImage(deleteImage) },
  "/images/{id}/actions": { GET: withImage(listActionsOf) },
  "/images/{id}/actions/{id}": { GET: withImage(getActionOf) },
  "/images/{id}/actions/change_protection": { POST: withOwnImage(changeImageProtection) },
  "/images/actions": { GET: listActionsAbout("image") },
  "/images/actions/{id}": { GET: getAction },
  "/locations": { GET: listLocations },
  "/locations/{id}": { GET: getLocation },
  "/server_types": { GET: listServerTypes },
  "/server_types/{id}": { GET: getServerType },
  "/pricing": { GET: getPricing },
  "/datacenters": { GET: datacentersAreGone },
  "/datacenters/{id}": { GET: datacentersAreGone },
  "/ssh_keys": { GET: listSshKeys, POST: createSshKey },
  "/ssh_keys/{id}": { GET: withSshKey(getSshKey), PUT: withSshKey(updateSshKey), DELETE: withSshKey(deleteSshKey) },
  "/networks": { GET: listNetworks, POST: createNetwork },
  "/networks/{id}": {
    GET: withNetwork(getNetwork),
    PUT: withNetwork(updateNetwork),
    DELETE: withNetwork(deleteNetwork),
  },
  "/networks/{id}/members": { GET: withNetwork(listMembers) },
  "/networks/{id}/actions": { GET: withNetwork(listActionsOf) },
  "/networks/{id}/actions/{id}": { GET: withNetwork(getActionOf) },
  "/networks/{id}/actions/add_subnet": { POST: withNetwork(addSubnet) },
  "/networks/{id}/actions/delete_subnet": { POST: withNetwork(deleteSubnet) },
  "/networks/{id}/actions/add_route": { POST: withNetwork(addRoute) },
  "/networks/{id}/actions/delete_route": { POST: withNetwork(deleteRoute) },
  "/networks/{id}/actions/change_ip_range": { POST: withNetwork(changeIpRange) },
  "/networks/{id}/actions/change_protection": { POST: withNetwork(changeNetworkProtection) },
  "/networks/actions": { GET: listActionsAbout("network") },
  "/networks/actions/{id}": { GET: getAction },
  "/firewalls": { GET: listFirewalls, POST: createFirewall },
  "/firewalls/{id}": {
    GET: withFirewall(getFirewall),
    PUT: withFirewall(updateFirewall),
    DELETE: withFirewall(deleteFirewall),
  },
  "/firewalls/{id}/actions": { GET: withFirewall(listActionsOf) },
  "/firewalls/{id}/actions/{id}": { GET: withFirewall(getActionOf) },
  "/firewalls/{id}/actions/set_rules": { POST: withFirewall(setRules) },
  "/firewalls/{id}/actions/apply_to_resources": { POST: withFirewall(applyToResources) },
  "/firewalls/{id}/actions/remove_from_resources": { POST: withFirewall(removeFromResources) },
  "/firewalls/actions": { GET: listActionsAbout("firewall") },
  "/firewalls/actions/{id}": { GET: getAction },
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
