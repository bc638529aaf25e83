import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const LONGEST_VALUE = "v".repeat(63);

describe("POST /servers refuses with 422 invalid_input and names the field", () => {
  it.each([
    ["a missing name", { name: undefined }, "name", "Missing data for required field."],
    ["a missing server type", { server_type: undefined }, "server_type", "Missing data for required field."],
    ["a missing image", { image: undefined }, "image", "Missing data for required field."],
    ["the removed field datacenter", { datacenter: "fsn1-dc14" }, "datacenter", "Unknown field."],
    ["a name with an underscore", { name: "ci_job" }, "name", "Name must be a valid hostname."],
    ["a name of 64 characters", { name: "n".repeat(64) }, "name", "Name must be a valid hostname."],
    ["a name that begins with a dash", { name: "-a" }, "name", "Name must be a valid hostname."],
    ["a name with an empty part", { name: "a..b" }, "name", "Name must be a valid hostname."],
    ["a name that is a number", { name: 5 }, "name", "Not a valid string."],
    ["a flag that is text", { start_after_create: "yes" }, "start_after_create", "Not a valid boolean."],
    ["keys that are no list", { ssh_keys: "key" }, "ssh_keys", "Not a valid list."],
    ["a null location", { location: null }, "location", "Field may not be null."],
    ["user data over 32 KiB", { user_data: "x".repeat(32_769) }, "user_data", "Length must be between 0 and 32768."],
    [
      "user data over 32 KiB in bytes",
      { user_data: "€".repeat(11_000) },
      "user_data",
      "Length must be between 0 and 32768.",
    ],
    ["a bad public_net", { public_net: { enable_ipv4: 1 } }, "public_net", "Invalid input."],
    ["a placement group by name", { placement_group: "pg" }, "placement_group", "Not a valid integer."],
    ["networks by name", { networks: ["net"] }, "networks", "Not a valid list."],
    ["null user data", { user_data: null }, "user_data", "Field may not be null."],
    ["a server type that is an object", { server_type: { id: 1 } }, "server_type", "Not a valid string."],
    ["labels that are a list", { labels: [] }, "labels", "Not a valid mapping type."],
  ])("%s", async (_what, change, name, message) => {
    const { sim, create } = startSimulator();
    const details = { fields: [{ name, messages: [message] }] };
    expect(await create(change)).toMatchObject({ status: 422, body: { error: { code: "invalid_input", details } } });
    expect(sim.state().servers).toEqual([]);
  });

  it.each([
    ["a value with a colon", { a: "b:c" }],
    ["a value that ends with a dash", { a: "b-" }],
    ["a value of 64 characters", { a: `${LONGEST_VALUE}v` }],
    ["a value that is a number", { a: 1 }],
    ["an empty key", { "": "b" }],
    ["a key of 64 characters", { ["k".repeat(64)]: "b" }],
    ["the reserved prefix", { "hetzner.cloud/a": "b" }],
    ["a prefix that the reserved one ends", { "karpenter.hetzner.cloud/a": "b" }],
    ["the reserved prefix as a name", { "hetzner.cloud": "b" }],
    ["two prefixes", { "a/b/c": "d" }],
    ["a prefix of 254 characters", { [`${"p".repeat(254)}/a`]: "b" }],
  ])("a label map with %s", async (_what, labels) => {
    const { create } = startSimulator();
    expect(await create({ labels })).toMatchObject({
      status: 422,
      body: { error: { details: { fields: [{ name: "labels" }] } } },
    });
  });

  it("several fields in one answer", async () => {
    const { send } = startSimulator();
    const { body } = await send("POST", "/v1/servers", { server_type: "cx23" });
    expect(body).toMatchObject({ error: { message: "invalid input in fields 'name', 'image'" } });
  });
});

describe("POST /servers accepts", () => {
  it.each([
    ["a name with dots and capitals", { name: "A.b-1" }],
    ["a name of 63 characters", { name: "n".repeat(63) }],
    ["null labels as none", { labels: null }],
    ["an empty label value and a prefixed key", { labels: { a: "", "example.com/my": LONGEST_VALUE } }],
    ["user data of exactly 32 KiB", { user_data: "x".repeat(32_768) }],
    ["fields nobody knows", { colour: "green" }],
    [
      "what the command line sends when nothing is attached",
      { networks: [], firewalls: [], volumes: [], automount: false },
    ],
  ])("%s", async (_what, change) => {
    const { create } = startSimulator();
    expect(await create(change)).toMatchObject({ status: 201 });
  });
});

describe("POST /servers refuses", () => {
  it("a name that is taken with 409", async () => {
    const { create } = startSimulator();
    await create({ name: "a" });
    expect(await create({ name: "a" })).toMatchObject({
      status: 409,
      body: {
        error: {
          code: "uniqueness_error",
          message: "server name is already used",
          details: { fields: [{ name: "name" }] },
        },
      },
    });
  });

  it.each([
    ["a server type", { server_type: "cx22" }, "server type not found"],
    ["an image", { image: "debian-7" }, "image not found"],
    ["a location", { location: "mars1" }, "location not found"],
    ["a network", { networks: [1] }, "network not found"],
    ["a firewall", { firewalls: [{ firewall: 1 }] }, "firewall not found"],
    ["a volume", { volumes: [1] }, "volume not found"],
    ["a placement group", { placement_group: 1 }, "placement group not found"],
    ["a Primary IP", { public_net: { ipv4: 1 } }, "primary IP not found"],
  ])("%s that does not exist with 404", async (_what, change, message) => {
    const { create } = startSimulator();
    expect(await create(change)).toMatchObject({ status: 404, body: { error: { code: "not_found", message } } });
  });

  it.each([
    [
      "a type that the location does not have",
      { server_type: "cx23", location: "ash" },
      "unsupported location for server type",
    ],
    [
      "a type that is priced but not offered there",
      { server_type: "cpx11", location: "fsn1" },
      "unsupported location for server type",
    ],
    ["a type that is no longer sold there", { server_type: "cpx31", location: "sin" }, "server type 24 is deprecated"],
    [
      "an image of the other architecture",
      { server_type: "cax11", image: 317_629_862 },
      "image architecture does not match the server type",
    ],
  ])("%s with invalid_input", async (_what, change, message) => {
    const { create } = startSimulator();
    expect(await create(change)).toMatchObject({ status: 422, body: { error: { code: "invalid_input", message } } });
  });

  it("a deprecated image once it is unavailable", async () => {
    const { sim, create } = startSimulator();
    expect(await create({ name: "before", image: "debian-11" })).toMatchObject({ status: 201 });
    sim.advance(30 * 86_400);
    expect(await create({ name: "after", image: "debian-11" })).toMatchObject({ status: 422 });
  });

  it("a type out of stock with 412, whatever the catalogue says", async () => {
    const { sim, create } = startSimulator();
    sim.stock({ server_type: "cx23", location: "fsn1", available: true, orderable: false });
    expect(await create({ location: "fsn1" })).toMatchObject({
      status: 412,
      body: { error: { code: "resource_unavailable" } },
    });
  });

  it("a server over the limit with 403 until one is deleted", async () => {
    const { sim, create, send } = startSimulator();
    sim.reset({ limits: { servers: 1 } });
    await create({ name: "a" });
    const error = { code: "resource_limit_exceeded", details: { limits: [{ name: "server_limit" }] } };
    expect(await create({ name: "b" })).toMatchObject({ status: 403, body: { error } });
    await send("DELETE", "/v1/servers/101");
    expect(await create({ name: "b" })).toMatchObject({ status: 201 });
  });

  it("a server whose addresses are over the limit with 403, until there are fewer; both kinds count", async () => {
    const { sim, create } = startSimulator();
    sim.reset({ limits: { primary_ips: 3 } });
    expect(await create({ name: "a" })).toMatchObject({ status: 201 });
    const error = { code: "resource_limit_exceeded", details: { limits: [{ name: "primary_ip_limit" }] } };
    expect(await create({ name: "b" })).toMatchObject({ status: 403, body: { error } });
    expect(await create({ name: "b", public_net: { enable_ipv4: false } })).toMatchObject({ status: 201 });
  });
});
