import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const FIELDS = ["name", "server_type", "image", "location", "labels", "public_net", "protection", "status", "created"];
const MORE_FIELDS = [
  "user_data",
  "ssh_keys",
  "networks",
  "start_after_create",
  "delete",
  "rebuild",
  "id",
  "path",
  "times",
];
const CONTROLS = ["reset", "clock", "servers", "stock", "faults", "tick", "state", "requests"];
const PATHS = [
  "servers",
  "servers/101",
  "servers/101/actions/change_protection",
  "servers/101/actions/poweroff",
  "actions",
];
const LISTS = ["servers/actions", "images", "locations", "server_types", "primary_ips", "pricing", "datacenters"];

const value = fc.oneof(fc.jsonValue(), fc.constantFrom("cx23", "debian-13", "fsn1", "a-1", true, 101, null));
const body = fc.oneof(
  fc.dictionary(fc.constantFrom(...FIELDS, ...MORE_FIELDS), value).map((fields) => JSON.stringify(fields)),
  fc.string(),
  fc.jsonValue().map((json) => JSON.stringify(json)),
);
const query = fc
  .array(fc.tuple(fc.constantFrom("page", "per_page", "sort", "status", "id", "name", "label_selector"), fc.string()))
  .map((pairs) => new URLSearchParams(pairs).toString());
const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS");

describe("whatever is sent", () => {
  it("the API answers with a known status and never with a failure of its own", async () => {
    const path = fc.constantFrom(...PATHS, ...LISTS, "nothing", "servers/999999999999999999999");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(method, path, query, body), { maxLength: 12 }), async (requests) => {
        const { send } = startSimulator();
        for (const [verb, target, search, text] of requests) {
          const { status } = await send(verb, `/v1/${target}?${search}`, verb === "GET" ? undefined : text);
          expect([200, 201, 400, 401, 404, 405, 409, 410, 422, 423]).toContain(status);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("the control plane answers, and the API goes on working", async () => {
    const controls = fc.tuple(method, fc.constantFrom(...CONTROLS), body);
    await fc.assert(
      fc.asyncProperty(fc.array(controls, { maxLength: 12 }), async (requests) => {
        const { sim, send } = startSimulator();
        for (const [verb, target, text] of requests) {
          const { status } = await send(verb, `/_sim/${target}`, verb === "GET" ? undefined : text);
          expect([200, 201, 404, 422, 501]).toContain(status);
        }
        sim.clearFaults();
        for (const target of ["servers?sort=name&sort=created", "primary_ips", "servers/actions"])
          expect(await send("GET", `/v1/${target}`)).toMatchObject({ status: 200 });
        for (const { id } of sim.state().servers)
          expect((await send("DELETE", `/v1/servers/${id}`)).status).not.toBe(500);
      }),
      { numRuns: 100 },
    );
  });
});
