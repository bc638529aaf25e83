// The part of the story about firewalls: server 102 has a public interface, server 103 has not.
import { del, get, post, put, type Step } from "./official-document-step.ts";

const PATH = "/firewalls/30001";
const SSH = { direction: "in", protocol: "tcp", port: "22", source_ips: ["0.0.0.0/0", "::/0"], description: "ssh" };
const PING = { direction: "out", protocol: "icmp", destination_ips: ["10.0.0.0/8"] };

const onServer = (id: number) => ({ type: "server", server: { id } });
const SELECTED = { type: "label_selector", label_selector: { selector: "!none" } };

const apply = (what: string, status: number, ...apply_to: object[]): Step =>
  post(what, `${PATH}/actions/apply_to_resources`, status, { apply_to });
const remove = (what: string, status: number, ...remove_from: object[]): Step =>
  post(what, `${PATH}/actions/remove_from_resources`, status, { remove_from });
const create = (what: string, status: number, body: object): Step =>
  post(what, "/firewalls", status, { name: "other", ...body });

export const FIREWALL_STORY: readonly Step[] = [
  create("a firewall", 201, { name: "web", rules: [SSH, PING], labels: { a: "b" } }),
  create("a firewall without rules on a server", 201, { apply_to: [onServer(102)] }),
  create("a taken firewall name", 409, {}),
  create("a bad rule", 422, { name: "more", rules: [{}] }),
  create("a firewall on nothing", 422, { name: "more", apply_to: [onServer(1)] }),
  create("a firewall twice on a server", 422, { name: "more", apply_to: [onServer(102), onServer(102)] }),
  create("a firewall without an interface to stand before", 422, { name: "more", apply_to: [onServer(103)] }),
  apply("a firewall on a server and a selector", 201, onServer(102), SELECTED),
  { ...get("a pending firewall", "/servers/102"), pause: false },
  { ...get("what it is applied to", PATH), pause: false },
  { ...put("an update of a firewall that is being changed", PATH, 409, { name: "www" }), pause: false },
  apply("an applied firewall", 422, onServer(102)),
  apply("a firewall on what is not there", 404, onServer(1)),
  apply("a firewall without an interface", 422, onServer(103)),
  remove("a selected server", 422, onServer(104)),
  remove("a server that is not there", 404, onServer(1)),
  post("new rules", `${PATH}/actions/set_rules`, 201, { rules: [PING] }),
  put("a renamed firewall", PATH, 200, { name: "www", labels: {} }),
  del("a firewall in use", PATH, 422),
  remove("a firewall off a server and a selector", 201, onServer(102), SELECTED),
  get("firewalls", "/firewalls?sort=created:desc&name=www&label_selector=!a"),
  get("the actions of a firewall", `${PATH}/actions`),
  get("the actions of all firewalls", "/firewalls/actions?status=success&sort=id:desc"),
  get("an action of a firewall", `${PATH}/actions/1`, 404),
  get("an action of some firewall", "/firewalls/actions/1", 404),
  del("deleting a firewall", PATH, 204),
  get("a deleted firewall", PATH, 404),
];
