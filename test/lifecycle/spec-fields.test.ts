import { expect, it } from "vitest";
import * as z from "zod";
import { machineBody } from "../../src/http/machines/body.ts";
import { BODY, createMayfly, machineIn, type Answer, type Mayfly } from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

const RULE = { direction: "in", protocol: "tcp", port: "22" };
const FULL = {
  ...BODY,
  image: "debian-12",
  labels: { team: "red", a: "b" },
  cloud_init: "#!/bin/sh\necho one",
  enable_ipv4: true,
  enable_ipv6: true,
  keep_on_failure: "1h",
  ssh_keys: [KEY_A],
  firewalls: [{ rules: [RULE] }],
  networks: [{ ip_range: "10.0.0.0/16" }],
};
const put = (mayfly: Mayfly, body: object, name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, body);
const fieldsOf = ({ status, body }: Answer) => {
  expect(status).toBe(409);
  return z.object({ code: z.literal("spec_mismatch"), fields: z.array(z.string()).optional() }).parse(body).fields;
};
const kept = async ({ bindings }: Mayfly) =>
  (await bindings.DB.prepare("SELECT spec_fields FROM machines ORDER BY name").all<{ spec_fields: string }>()).results;

const OTHERS: readonly (readonly [fields: readonly string[], change: object])[] = [
  [["server_type"], { server_type: ["cx23", "cx33"] }],
  [["server_type", "arch"], { server_type: undefined, arch: "amd64" }],
  [["region"], { region: "hel1" }],
  [["image"], { image: { label_selector: "a=b" } }],
  [["labels"], { labels: { team: "red" } }],
  [["cloud_init"], { cloud_init: "#!/bin/sh\necho two" }],
  [["enable_ipv4"], { enable_ipv4: undefined }],
  [["enable_ipv6"], { enable_ipv6: false }],
  [["keep_on_failure"], { keep_on_failure: "60m" }],
  [["ssh_keys"], { ssh_keys: [KEY_B] }],
  [["firewalls"], { firewalls: [{ rules: [{ ...RULE, port: "80" }] }] }],
  [["firewalls"], { firewalls: undefined }],
  [["networks"], { networks: [{ ip_range: "10.1.0.0/16" }] }],
  [["image", "cloud_init", "networks"], { networks: undefined, cloud_init: undefined, image: "ubuntu-24.04" }],
];

it.each(OTHERS)(
  "another body under a name is told the fields that differ, and only those: %j",
  async (fields, change) => {
    const mayfly = createMayfly();
    expect((await put(mayfly, FULL)).status).toBe(201);
    const refused = await put(mayfly, { ...FULL, ...change });
    expect(fieldsOf(refused)).toEqual(fields);
    expect(refused.body).toMatchObject({
      detail: `What lives under the name box was asked for with another body: other in ${fields.map((field) => `\`${field}\``).join(", ")}.`,
    });
    expect((await put(mayfly, { ...FULL, labels: { a: "b", team: "red" }, ttl: "2h" })).status).toBe(200);
  },
);

it("every field of a body but its ttl is one of those", () => {
  const told = new Set([...OTHERS.flatMap(([fields]) => fields), "profile", "ttl"]);
  expect(told).toEqual(new Set(Object.keys(machineBody.shape)));
});

it("a profile by its name, and what a body says beside it, are fields as others are", async () => {
  const mayfly = createMayfly({}, { profiles: { small: { ...BODY, ssh_keys: [KEY_A] }, same: BODY } });
  await put(mayfly, { profile: "small" });
  expect(fieldsOf(await put(mayfly, { profile: "same" }))).toEqual(["profile"]);
  expect(fieldsOf(await put(mayfly, { profile: "small", ssh_keys: [] }))).toEqual(["ssh_keys"]);
  expect(fieldsOf(await put(mayfly, BODY))).toEqual(["server_type", "region", "profile"]);
});

it("what is kept of a body's fields tells no value, nor that two machines were asked for with the same", async () => {
  const mayfly = createMayfly();
  await put(mayfly, FULL, "one");
  await put(mayfly, FULL, "two");
  const [one, two] = await kept(mayfly);
  const shape = z.record(z.string(), z.string().regex(/^[0-9a-f]{12}$/));
  const [first, second] = [
    shape.parse(JSON.parse(one?.spec_fields ?? "")),
    shape.parse(JSON.parse(two?.spec_fields ?? "")),
  ];
  expect(Object.keys(first)).toEqual(Object.keys(FULL));
  expect(Object.keys(second)).toEqual(Object.keys(FULL));
  for (const field of Object.keys(first)) expect(first[field]).not.toBe(second[field]);
});

it("rows from before, and those that cannot be read, name no field", async () => {
  const mayfly = createMayfly();
  const created = await put(mayfly, FULL);
  for (const said of [null, "[]", "{"]) {
    await mayfly.bindings.DB.prepare("UPDATE machines SET spec_fields = ?").bind(said).run();
    const refused = await put(mayfly, BODY);
    expect(fieldsOf(refused)).toBeUndefined();
    expect(refused.body).toMatchObject({ detail: "What lives under the name box was asked for with another body." });
    expect(machineIn(await put(mayfly, FULL)).id).toBe(machineIn(created).id);
  }
});

it("a firewall, a network and a key name theirs, from what is kept of them", async () => {
  const mayfly = createMayfly();
  const both = async (path: string, first: object, second: object) => {
    await mayfly.send("POST", path, { name: "mine", ...first });
    return fieldsOf(await mayfly.send("POST", path, { name: "mine", ...second }));
  };
  expect(await both("/v1/firewalls", { rules: [RULE] }, { rules: [RULE, { ...RULE, port: "80" }] })).toEqual(["rules"]);
  const lab = { ip_range: "10.0.0.0/16", region: "fsn1" };
  expect(await both("/v1/networks", lab, { ...lab, region: "ash" })).toEqual(["region"]);
  expect(
    fieldsOf(await mayfly.send("POST", "/v1/networks", { name: "mine", ...lab, ip_range: "10.1.0.0/16" })),
  ).toEqual(["ip_range"]);
  expect(await both("/v1/ssh_keys", { public_key: KEY_A }, { public_key: KEY_B })).toEqual(["public_key"]);
  expect(fieldsOf(await mayfly.send("POST", "/v1/firewalls", { name: "mine", deny_all: true }))).toEqual([
    "rules",
    "deny_all",
  ]);
});
