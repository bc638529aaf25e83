// The simulator's answers against Hetzner's own OpenAPI document, which this repository does not carry:
// HETZNER_OPENAPI names a copy of https://docs.hetzner.cloud/cloud.spec.json.
import { describe, expect, it } from "vitest";
import { createSimulator } from "../simulator/simulator.ts";
import { readOfficialDocument } from "./official-document.ts";

const file = process.env["HETZNER_OPENAPI"] ?? "";
if (file === "") console.log("skipped: HETZNER_OPENAPI names no copy of Hetzner's OpenAPI document");

const START_MS = Date.UTC(2026, 10, 15, 12);
const SERVER = { name: "a", server_type: "cx23", image: "debian-13" };

// [what, method, path, body, status] in the order of one story about server 101, told with pauses in which actions end.
const STORY: [string, string, string, unknown, number][] = [
  ["an empty list", "GET", "/servers", undefined, 200],
  ["a create", "POST", "/servers", { ...SERVER, labels: { a: "b" } }, 201],
  [
    "a create without addresses",
    "POST",
    "/servers",
    { ...SERVER, name: "b", public_net: { enable_ipv4: false, enable_ipv6: false } },
    201,
  ],
  [
    "a create that is not started, on ARM",
    "POST",
    "/servers",
    { ...SERVER, name: "c", server_type: "cax11", start_after_create: false },
    201,
  ],
  ["running actions", "GET", "/actions?id=500001&id=500005", undefined, 200],
  ["a locked server", "POST", "/servers/103/actions/poweroff", undefined, 423],
  ["a taken name", "POST", "/servers", SERVER, 409],
  ["bad fields", "POST", "/servers", { name: "a_b" }, 422],
  ["bad JSON", "POST", "/servers", "{", 400],
  ["no action ids", "GET", "/actions", undefined, 400],
  ["an action", "GET", "/actions/500001", undefined, 200],
  ["a poweroff", "POST", "/servers/101/actions/poweroff", undefined, 201],
  ["a poweron", "POST", "/servers/101/actions/poweron", undefined, 201],
  ["a reboot", "POST", "/servers/101/actions/reboot", undefined, 201],
  ["a reset", "POST", "/servers/101/actions/reset", undefined, 201],
  ["a protection", "POST", "/servers/101/actions/change_protection", { delete: true, rebuild: true }, 201],
  ["a protected server", "DELETE", "/servers/101", undefined, 423],
  ["a lifted protection", "POST", "/servers/101/actions/change_protection", { delete: false, rebuild: false }, 201],
  ["a shutdown", "POST", "/servers/101/actions/shutdown", undefined, 201],
  ["a list", "GET", "/servers?per_page=2&sort=created:desc", undefined, 200],
  ["a server", "GET", "/servers/101", undefined, 200],
  ["its Primary IPs", "GET", "/primary_ips", undefined, 200],
  ["a Primary IP", "GET", "/primary_ips/70001", undefined, 200],
  ["an update", "PUT", "/servers/101", { name: "d", labels: {} }, 200],
  ["the actions of a server", "GET", "/servers/101/actions", undefined, 200],
  ["the actions of all servers", "GET", "/servers/actions", undefined, 200],
  ["an action of a server", "GET", "/servers/101/actions/500001", undefined, 200],
  ["an action of some server", "GET", "/servers/actions/500001", undefined, 200],
  ["a deletion", "DELETE", "/servers/101", undefined, 200],
  ["a second deletion", "DELETE", "/servers/101", undefined, 404],
  ["server types", "GET", "/server_types?per_page=50", undefined, 200],
  ["a server type", "GET", "/server_types/114", undefined, 200],
  ["locations", "GET", "/locations", undefined, 200],
  ["a location", "GET", "/locations/1", undefined, 200],
  ["images", "GET", "/images?include_deprecated=true", undefined, 200],
  ["an image", "GET", "/images/317629862", undefined, 200],
  ["prices", "GET", "/pricing", undefined, 200],
  ["datacenters", "GET", "/datacenters", undefined, 410],
  ["a datacenter", "GET", "/datacenters/1", undefined, 410],
  ["SSH keys", "GET", "/ssh_keys", undefined, 200],
  ["networks", "GET", "/networks", undefined, 200],
  ["firewalls", "GET", "/firewalls", undefined, 200],
  ["volumes", "GET", "/volumes", undefined, 200],
];

const WITHOUT_A_PAUSE = new Set(["running actions", "a locked server"]);
const PAUSE_SECONDS = 5;

describe.skipIf(file === "")("every answer is what Hetzner's document says", () => {
  const document = file === "" ? undefined : readOfficialDocument(file);
  const sim = createSimulator({ now: () => START_MS });

  it.each(STORY)("%s: %s %s", async (what, method, path, body, status) => {
    if (!WITHOUT_A_PAUSE.has(what)) sim.advance(PAUSE_SECONDS);
    const response = await sim.fetch(
      new Request(`https://api.hetzner.cloud/v1${path}`, {
        method,
        headers: { Authorization: "Bearer token" },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    );
    expect(response.status).toBe(status);
    const [bare = ""] = path.split("?");
    expect(document?.differences(method, bare, status, await response.json())).toEqual([]);
  });

  it("and the check notices what is missing, mistyped or malformed", () => {
    const action = {
      id: "1",
      command: "x",
      status: "done",
      progress: 0,
      started: "today",
      finished: null,
      resources: [],
    };
    expect(document?.differences("GET", "/actions/1", 200, { action })).toEqual([
      expect.stringContaining('body.action.id: "1" fails type "integer"'),
      expect.stringContaining('body.action.status: "done" fails enum'),
      expect.stringContaining('body.action.started: "today" fails format'),
      expect.stringContaining("fails required"),
    ]);
    expect(
      document?.differences("GET", "/locations", 200, { locations: [], meta: { pagination: null }, more: 1 }),
    ).toHaveLength(2);
    expect(document?.differences("PATCH", "/servers", 200, {})).toEqual(["the document has no PATCH /servers"]);
  });
});
