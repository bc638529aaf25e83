// The part of the story about networks: servers 102, 103 and 104 are in eu-central.
import { del, get, post, put, type Step } from "./official-document-step.ts";

const PATH = "/networks/40001";
const SUBNET = { type: "cloud", network_zone: "eu-central", ip_range: "10.0.1.0/24" };
const ROUTE = { destination: "10.100.1.0/24", gateway: "10.0.1.1" };

const create = (what: string, status: number, body: object): Step =>
  post(what, "/networks", status, { name: "net", ip_range: "10.0.0.0/16", ...body });
const act = (what: string, command: string, status: number, body: object): Step =>
  post(what, `${PATH}/actions/${command}`, status, body);
const attach = (what: string, status: number, body: object = {}, server = 102): Step =>
  post(what, `/servers/${server}/actions/attach_to_network`, status, { network: 40_001, ...body });

export const NETWORK_STORY: readonly Step[] = [
  create("a network", 201, { labels: { a: "b" } }),
  create("a name that is taken", 409, {}),
  create("a network with subnets and routes", 201, { name: "other", subnets: [SUBNET], routes: [ROUTE] }),
  create("a public network", 422, { ip_range: "8.8.8.0/24" }),
  attach("a network without a subnet", 422),
  act("a subnet", "add_subnet", 201, { type: "cloud", network_zone: "eu-central" }),
  { ...act("a subnet too soon", "add_subnet", 409, SUBNET), pause: false },
  act("another subnet", "add_subnet", 201, SUBNET),
  act("a vSwitch", "add_subnet", 404, { ...SUBNET, type: "vswitch" }),
  act("a route", "add_route", 201, ROUTE),
  act("the same route", "add_route", 422, ROUTE),
  act("a wider range", "change_ip_range", 201, { ip_range: "10.0.0.0/12" }),
  act("protection", "change_protection", 201, { delete: true }),
  del("a protected network", PATH, 423),
  act("no protection", "change_protection", 201, { delete: false }),
  attach("an attachment", 201, { ip: "10.0.1.7", alias_ips: ["10.0.1.8"] }),
  { ...get("who is coming", `${PATH}/members`), pause: false },
  get("who is there", `${PATH}/members?status=ok&sort=ip`),
  get("an attached server", "/servers/102"),
  attach("an attached network", 422),
  attach("an overlapping network", 422, { network: 40_002 }),
  attach("an address that is taken", 422, { ip: "10.0.1.8" }, 104),
  attach("an unknown network", 404, { network: 1 }),
  act("a subnet with a server", "delete_subnet", 422, { ip_range: "10.0.1.0/24" }),
  post("a detachment", "/servers/102/actions/detach_from_network", 201, { network: 40_001 }),
  post("another one", "/servers/102/actions/detach_from_network", 404, { network: 40_001 }),
  post("a create in a network", "/servers", 201, {
    name: "n",
    server_type: "cx23",
    image: "debian-13",
    networks: [40_001],
    public_net: { enable_ipv4: false, enable_ipv6: false },
  }),
  get("servers with networks", "/servers?sort=id:desc"),
  act("no route", "delete_route", 201, ROUTE),
  act("no subnet", "delete_subnet", 201, { ip_range: "10.0.1.0/24" }),
  put("a renamed network", PATH, 200, { name: "lan", labels: {} }),
  get("networks", "/networks?sort=created:desc&name=lan"),
  get("the actions of a network", `${PATH}/actions`),
  get("the actions of all networks", "/networks/actions?status=success"),
  get("an action of a network", `${PATH}/actions/1`, 404),
  get("an action of some network", "/networks/actions/1", 404),
  del("deleting a network with a server", PATH, 204),
  get("a deleted network", PATH, 404),
];
