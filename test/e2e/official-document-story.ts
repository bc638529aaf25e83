// Calls that together reach every operation of the simulator and every refusal that it knows.
import { KEY_A } from "../simulator/sample-keys.ts";
import { FIREWALL_STORY } from "./official-document-firewalls.ts";
import { IMAGE_STORY } from "./official-document-images.ts";
import { NETWORK_STORY } from "./official-document-networks.ts";
import { get, post, type Step } from "./official-document-step.ts";

const SERVER = { name: "a", server_type: "cx23", image: "debian-13" };
const NO_NET = { enable_ipv4: false, enable_ipv6: false };
const PROTECTED = { delete: true, rebuild: true };
const OPEN = { delete: false, rebuild: false };

const act = (command: string, status = 201, body?: unknown): Step =>
  post(`a ${command}`, `/servers/101/actions/${command}`, status, body);

/** In order: a story about server 101 and its neighbours, told with pauses in which actions end. */
export const STORY: readonly Step[] = [
  get("an empty list", "/servers"),
  post("a create", "/servers", 201, { ...SERVER, labels: { a: "b" } }),
  post("an SSH key", "/ssh_keys", 201, { name: "key", public_key: KEY_A, labels: { a: "b" } }),
  post("the same key again", "/ssh_keys", 409, { name: "key-2", public_key: KEY_A }),
  post("a bad key", "/ssh_keys", 422, { name: "key-2", public_key: "ssh-rsa AAAA" }),
  get("SSH keys", "/ssh_keys?sort=name&name=key"),
  get("an SSH key", "/ssh_keys/20001"),
  { what: "a renamed key", method: "PUT", path: "/ssh_keys/20001", status: 200, body: { name: "key", labels: {} } },
  post("a create with keys", "/servers", 201, { ...SERVER, name: "k", ssh_keys: ["key"], user_data: "#!" }),
  post("a create with an unknown key", "/servers", 422, { ...SERVER, name: "u", ssh_keys: ["nobody"] }),
  { what: "deleting a key", method: "DELETE", path: "/ssh_keys/20001", status: 204 },
  { what: "deleting it again", method: "DELETE", path: "/ssh_keys/20001", status: 404 },
  post("no net", "/servers", 201, { ...SERVER, name: "b", public_net: NO_NET, start_after_create: false }),
  post("not started, on ARM", "/servers", 201, {
    ...SERVER,
    name: "c",
    server_type: "cax11",
    start_after_create: false,
  }),
  { ...get("running actions", "/actions?id=500001&id=500006"), pause: false },
  { ...post("a server that is busy", "/servers/104/actions/poweroff", 423), pause: false },
  post("a taken name", "/servers", 409, SERVER),
  post("bad fields", "/servers", 422, { name: "a_b" }),
  post("a body that is no object", "/servers", 422, "[]"),
  post("bad JSON", "/servers", 400, "{"),
  post("an unknown type", "/servers", 404, { ...SERVER, name: "d", server_type: "cx22" }),
  post("a type elsewhere", "/servers", 422, { ...SERVER, name: "d", location: "ash" }),
  post("an assigned IP", "/servers", 422, { ...SERVER, name: "d", public_net: { ipv4: 70_001 } }),
  post("an IP of the other kind", "/servers", 412, { ...SERVER, name: "d", public_net: { ipv6: 70_001 } }),
  {
    ...post("no stock", "/servers", 412, { ...SERVER, name: "d", location: "hel1" }),
    fate: (sim) => sim.stock({ server_type: "cx23", location: "hel1", available: false, orderable: false }),
  },
  get("no action ids", "/actions", 400),
  get("an action", "/actions/500001"),
  get("an unknown action", "/actions/1", 404),
  post("a start without an interface", "/servers/103/actions/poweron", 422),
  act("poweroff"),
  act("poweron"),
  act("reboot"),
  act("reset"),
  act("change_protection", 201, PROTECTED),
  { what: "a protected server", method: "DELETE", path: "/servers/101", status: 423 },
  act("change_protection", 422, { delete: false }),
  act("change_protection", 201, OPEN),
  { ...act("shutdown"), fate: (sim) => sim.fault({ method: "POST", action_error: { code: "stuck", message: "no" } }) },
  get("a failed action", "/servers/actions?status=error"),
  get("a list", "/servers?per_page=2&sort=created:desc&sort=id&status=running&status=off&label_selector=!none"),
  get("a page beyond the end", "/servers?page=9"),
  get("a bad selector", "/servers?label_selector=a%20b", 422),
  get("a server", "/servers/101"),
  get("its Primary IPs", "/primary_ips"),
  get("a Primary IP", "/primary_ips/70001"),
  get("an unknown Primary IP", "/primary_ips/1", 404),
  { what: "deleting a Primary IP in use", method: "DELETE", path: "/primary_ips/70001", status: 422 },
  { what: "an update", method: "PUT", path: "/servers/101", status: 200, body: { name: "d", labels: {} } },
  get("the actions of a server", "/servers/101/actions"),
  get("the actions of all servers", "/servers/actions"),
  get("an action of a server", "/servers/101/actions/500001"),
  get("an action of some server", "/servers/actions/500001"),
  { what: "a deletion", method: "DELETE", path: "/servers/101", status: 200 },
  { what: "a second deletion", method: "DELETE", path: "/servers/101", status: 404 },
  get("the action of a deletion", "/actions?id=500015&id=500001"),
  get("server types", "/server_types?per_page=50"),
  get("a server type", "/server_types/114"),
  get("locations", "/locations"),
  get("a location", "/locations/1"),
  ...IMAGE_STORY,
  get("prices", "/pricing"),
  get("datacenters", "/datacenters", 410),
  get("a datacenter", "/datacenters/1", 410),
  ...FIREWALL_STORY,
  ...NETWORK_STORY,
  get("volumes", "/volumes"),
  get("an unknown path", "/nothing", 404),
  { what: "a wrong method", method: "DELETE", path: "/servers", status: 405 },
  { ...get("no token", "/servers", 401), token: false },
  {
    ...post("one server too many", "/servers", 201, SERVER),
    fate: (sim) => sim.reset({ limits: { servers: 1 }, rate_limit: 2 }),
  },
  { ...post("a server over the limit", "/servers", 403, { ...SERVER, name: "b" }), pause: false },
  { ...get("a request over the limit", "/servers", 429), pause: false },
];
