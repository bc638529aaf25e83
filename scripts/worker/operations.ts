// What programs call each route: its operation, which becomes a function's name in a generated client, and the group that it is in.
// They are of no use to the Worker, so they are not in its routes.

export const TAGS = {
  Machines: "Lend, look at, renew and destroy machines",
  Firewalls: "Firewalls for machines",
  Networks: "Private networks for machines",
  "SSH keys": "Public keys that machines take",
  Catalogue: "What can be ordered, and what it costs",
  Records: "What happened, and what it cost",
  Hooks: "Events from outside, and what came of them",
  Access: "Who is calling, and tokens",
  Reaper: "Sweeps, what they hold back, and health",
} as const;

type Operation = readonly [operationId: string, tag: keyof typeof TAGS];

/** By method and path. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "put /v1/machines/{ref}": ["putMachine", "Machines"],
  "post /v1/machines": ["createMachine", "Machines"],
  "get /v1/machines": ["listMachines", "Machines"],
  "get /v1/machines/{ref}": ["getMachine", "Machines"],
  "post /v1/machines/{ref}/renew": ["renewMachine", "Machines"],
  "delete /v1/machines/{ref}": ["destroyMachine", "Machines"],
  "delete /v1/machines": ["destroyMachines", "Machines"],
  "post /v1/machines/{ref}/attach_to_network": ["attachMachineToNetwork", "Machines"],
  "post /v1/reap": ["reapMachines", "Machines"],
  "post /v1/teardown": ["tearDown", "Machines"],
  "post /v1/firewalls": ["createFirewall", "Firewalls"],
  "get /v1/firewalls": ["listFirewalls", "Firewalls"],
  "get /v1/firewalls/{ref}": ["getFirewall", "Firewalls"],
  "delete /v1/firewalls/{ref}": ["deleteFirewall", "Firewalls"],
  "post /v1/firewalls/{ref}/apply_to_resources": ["applyFirewall", "Firewalls"],
  "post /v1/firewalls/{ref}/remove_from_resources": ["removeFirewall", "Firewalls"],
  "post /v1/networks": ["createNetwork", "Networks"],
  "get /v1/networks": ["listNetworks", "Networks"],
  "get /v1/networks/{ref}": ["getNetwork", "Networks"],
  "delete /v1/networks/{ref}": ["deleteNetwork", "Networks"],
  "post /v1/networks/{ref}/add_route": ["addNetworkRoute", "Networks"],
  "post /v1/ssh_keys": ["createSshKey", "SSH keys"],
  "get /v1/ssh_keys": ["listSshKeys", "SSH keys"],
  "get /v1/ssh_keys/{ref}": ["getSshKey", "SSH keys"],
  "delete /v1/ssh_keys/{ref}": ["deleteSshKey", "SSH keys"],
  "get /v1/server_types": ["listServerTypes", "Catalogue"],
  "get /v1/pricing": ["getPricing", "Catalogue"],
  "get /v1/events": ["listEvents", "Records"],
  "get /v1/usage": ["getUsage", "Records"],
  "post /v1/hooks/{hook}": ["receiveEvent", "Hooks"],
  "get /v1/hooks": ["listDeliveries", "Hooks"],
  "get /v1/whoami": ["whoami", "Access"],
  "post /v1/tokens": ["createToken", "Access"],
  "get /v1/tokens": ["listTokens", "Access"],
  "delete /v1/tokens/{id}": ["revokeToken", "Access"],
  "post /v1/sweeps": ["runSweep", "Reaper"],
  "get /v1/sweeps": ["listSweeps", "Reaper"],
  "post /v1/holds/{hold}/release": ["releaseHold", "Reaper"],
  "get /healthz": ["getHealth", "Reaper"],
};
