// A second judge of the simulator: the official Python client, which sends names where hcloud sends ids.
import { describe, expect, it } from "vitest";
import { IMAGES, LOCATIONS, SERVER_TYPES } from "../simulator/catalogue.ts";
import { FINGERPRINT_A, KEY_A } from "../simulator/sample-keys.ts";
import { servedProject } from "./official-document-project.ts";
import { hasPythonClient, pythonClient } from "./python-client.ts";

const available = hasPythonClient();
const inCi = process.env["CI"] !== undefined && process.env["CI"] !== "";
if (!available && !inCi) console.log("skipped: no hcloud for python3 (Debian: apt-get install python3-hcloud)");

it.runIf(inCi)("the Python client is installed where the tests must not be skipped", () => {
  expect(available).toBe(true);
});

describe.skipIf(!available)("the Python client", () => {
  const { sim, url, given } = servedProject();
  const ask = (task: string, input: unknown = null): Promise<unknown> => pythonClient(url(), task, input);
  const DONE = { status: "success", progress: 100, finished: true };

  it("creates a server from names, and waits for its actions one by one", async () => {
    const labels = { env: "ci", "example.com/run": "7" };
    const asked = { name: "ci-1", server_type: "cax11", location: "nbg1", labels, user_data: "#cloud-config\n" };
    expect(await ask("create", asked)).toMatchObject({
      server: { name: "ci-1", status: "running", labels, server_type: "cax11", image: "debian-13" },
      actions: [
        { command: "create_server", ...DONE },
        { command: "start_server", ...DONE },
      ],
      root_password: true,
    });
    // The name alone: the simulator has found the image of the type's architecture.
    expect(sim.state().servers).toMatchObject([
      { user_data: "#cloud-config\n", location: { name: "nbg1" }, image: { architecture: "arm" } },
    ]);
  });

  it("is given no root password with a key", async () => {
    expect(await ask("upload_key", { name: "key", public_key: KEY_A })).toMatchObject({ fingerprint: FINGERPRINT_A });
    expect(await ask("create", { name: "a", ssh_keys: ["key"] })).toMatchObject({ root_password: false });
  });

  it("uploads a key, finds it by its fingerprint and deletes it", async () => {
    const asked = { name: "key", public_key: `${KEY_A} me@home`, labels: { env: "ci" } };
    expect(await ask("upload_key", asked)).toMatchObject({ name: "key", labels: { env: "ci" } });
    expect(await ask("upload_key", { ...asked, name: "other" })).toMatchObject({ code: "uniqueness_error" });
    expect(await ask("find_key", { fingerprint: FINGERPRINT_A })).toMatchObject({ name: "key" });
    expect(await ask("delete_key", "key")).toEqual([]);
    expect(await ask("find_key", { fingerprint: FINGERPRINT_A })).toBeNull();
  });

  it("makes a firewall, reads both lists of addresses in its rules, and puts it on a server and takes it off", async () => {
    given();
    const ssh = { direction: "in", protocol: "tcp", port: "22", source_ips: ["0.0.0.0/0"] };
    const ping = { direction: "out", protocol: "icmp", destination_ips: ["10.0.0.0/8"], source_ips: [] };
    expect(await ask("create_firewall", { name: "web", rules: [ssh, ping] })).toMatchObject({
      rules: [ssh, { protocol: "icmp", destination_ips: ["10.0.0.0/8"] }],
      applied_to: [],
    });
    const target = { firewall: "web", server: "a" };
    expect(await ask("apply_firewall", target)).toMatchObject({
      actions: [{ command: "apply_firewall", ...DONE }],
      firewall: { applied_to: ["server"] },
    });
    expect(await ask("set_rules", { firewall: "web", rules: [ping] })).toMatchObject({
      actions: [{ command: "set_firewall_rules" }, { command: "apply_firewall", ...DONE }],
      firewall: { rules: [{ protocol: "icmp" }] },
    });
    expect(await ask("delete_firewall", "web")).toMatchObject({ code: "resource_in_use" });
    expect(await ask("remove_firewall", target)).toMatchObject({
      actions: [{ command: "remove_firewall", ...DONE }],
      firewall: { applied_to: [] },
    });
    expect(await ask("delete_firewall", "web")).toEqual([]);
  });

  it("reads created as a time with its zone", async () => {
    given({ created: "2026-11-01T12:00:00+00:00" });
    expect(await ask("find_by_name", "a")).toMatchObject({ created: "2026-11-01T12:00:00+00:00" });
  });

  it("gets all of more than two pages", async () => {
    for (let number = 1; number <= 120; number += 1) given({ name: `s${number}` });
    expect(await ask("find", {})).toHaveLength(120);
    const pages = sim.requests().map(({ query }) => new URLSearchParams(query).get("page"));
    expect(pages).toEqual(["1", "2", "3"]);
  });

  it("finds by name, by label selector and by statuses", async () => {
    given({ name: "a", labels: { env: "ci" } });
    given({ name: "b", labels: { env: "prod" }, status: "off" });
    given({ name: "c", status: "starting" });
    expect(await ask("find_by_name", "b")).toMatchObject({ name: "b", labels: { env: "prod" } });
    expect(await ask("find_by_name", "nobody")).toBeNull();
    expect(await ask("find", { label_selector: "env in (ci,dev)" })).toMatchObject([{ name: "a" }]);
    expect(await ask("find", { label_selector: "!env" })).toMatchObject([{ name: "c" }]);
    expect(await ask("find", { status: ["off", "starting"] })).toMatchObject([{ name: "b" }, { name: "c" }]);
  });

  it("replaces labels and renames", async () => {
    given({ labels: { old: "1" } });
    const changed = await ask("update", { server: "a", name: "b", labels: { new: "2" } });
    expect(changed).toMatchObject({ name: "b" });
    expect(changed).toHaveProperty("labels", { new: "2" });
  });

  it("switches a server off and on and reads its actions, the last one first", async () => {
    given();
    const commands = ["power_off", "power_on", "reboot", "reset", "shutdown"];
    const seen = ["off", "running", "running", "running", "off"];
    expect(await ask("power", { server: "a", commands })).toEqual(seen);
    expect(await ask("actions", "a")).toMatchObject([
      { command: "shutdown_server", ...DONE },
      { command: "reset_server" },
      { command: "reboot_server" },
      { command: "start_server" },
      { command: "stop_server" },
    ]);
  });

  it("deletes a server, a protected one only once the protection is lifted", async () => {
    given();
    expect(await ask("protect", { server: "a", delete: true, rebuild: true })).toMatchObject(DONE);
    expect(await ask("delete", "a")).toMatchObject({ code: "protected", details: null });
    expect(await ask("protect", { server: "a", delete: false, rebuild: false })).toMatchObject(DONE);
    expect(await ask("delete", "a")).toMatchObject({ action: { command: "delete_server", ...DONE }, left: false });
  });

  it("makes, protects and deletes a snapshot, and reads its actions", async () => {
    given();
    expect(await ask("snapshot", { server: "a", description: "golden", labels: { env: "ci" } })).toEqual({
      statuses: ["creating", "available"],
      actions: [
        { command: "create_image", ...DONE },
        { command: "change_protection", ...DONE },
      ],
      listed: ["create_image", "change_protection"],
      protected: true,
      description: "silver",
      created_from: "a",
    });
    expect(await ask("delete_images", { label_selector: "env=ci" })).toEqual([1, 0]);
  });

  it.each([
    [{ name: "taken" }, { code: "uniqueness_error", details: { fields: [{ name: "name" }] } }],
    [{ name: "a_b" }, { code: "invalid_input", details: { fields: [{ name: "name" }] } }],
    [
      { name: "a", server_type: "cx22" },
      { code: "not_found", message: "server type not found" },
    ],
    [
      { name: "a", image: "debian-7" },
      { code: "not_found", message: "image not found" },
    ],
    [
      { name: "a", location: "mars1" },
      { code: "not_found", message: "location not found" },
    ],
    [
      { name: "a", location: "sin" },
      { code: "invalid_input", message: "unsupported location for server type" },
    ],
    [{ name: "a", location: "hel1" }, { code: "resource_unavailable" }],
    [
      { name: "a", location: "fsn1" },
      { code: "resource_limit_exceeded", details: { limits: [{}] } },
    ],
  ])("is refused a create of %j", async (asked, refusal) => {
    sim.reset({ limits: { servers: 1 } });
    if (!("location" in asked) || asked.location === "fsn1") given({ name: "taken" });
    sim.stock({ server_type: "cx23", location: "hel1", orderable: false });
    expect(await ask("create", asked)).toMatchObject(refusal);
  });

  it("is told that an action failed", async () => {
    sim.fault({ method: "POST", action_error: { command: "start_server", code: "no_host", message: "no host" } });
    expect(await ask("create", { name: "a" })).toEqual({ code: "no_host", message: "no host" });
    expect(sim.state().servers).toMatchObject([{ status: "off" }]);
  });

  it("repeats a request that meets the rate limit, and takes 503 for an answer", async () => {
    given();
    sim.fault({ status: 429, times: 2 });
    expect(await ask("find", {})).toHaveLength(1);
    sim.fault({ status: 503 });
    expect(await ask("find", {})).toMatchObject({ code: "unavailable" });
  });

  it("reads the whole catalogue", async () => {
    const { public_net } = given();
    expect(await ask("catalogue")).toMatchObject({
      locations: LOCATIONS.map(({ name }) => name),
      server_types: SERVER_TYPES.map(({ name }) => name),
      images: IMAGES.filter(({ deprecation }) => deprecation === null).map(({ name }) => name),
      type: 2,
      image: "debian",
      primary_ips: [public_net.ipv4?.ip, public_net.ipv6?.ip],
    });
  });
});
