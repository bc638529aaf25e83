import { describe, expect, it } from "vitest";
import * as z from "zod";
import { resourceJson } from "../../src/http/resources/json.ts";
import { behind } from "../behind.ts";
import { BODY, createMayfly, minutes, OURS, type Answer, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const LABELS = { team: "ci", run: "7" };
const namesIn = ({ body }: Answer, plural: string) => {
  const lists = z.object({ [plural]: z.array(resourceJson) }).parse(body);
  return lists[plural]?.map(({ name }) => name);
};

describe.each([
  ["ssh_keys", "ssh_key", { public_key: KEY_A }],
  ["firewalls", "firewall", { deny_all: true }],
  ["networks", "network", { ip_range: "10.0.0.0/16", region: "fsn1" }],
] as const)("labels of %s", (plural, kind, spec) => {
  const post = (mayfly: Mayfly, labels: unknown, name = "one", token?: string) =>
    mayfly.send("POST", `/v1/${plural}`, { name, ...spec, labels }, token);

  it("are shown, stand at the provider beside ours, and are part of what was asked for", async () => {
    const mayfly = createMayfly();
    expect(await post(mayfly, LABELS)).toMatchObject({ status: 201, body: { [kind]: { labels: LABELS } } });
    expect(mayfly.simulator.state()[plural]).toMatchObject([
      { labels: { ...OURS, ...LABELS, "mayfly-name": "one", "mayfly-owner": "admin" } },
    ]);
    const reordered = { run: "7", team: "ci" };
    expect(await post(mayfly, reordered)).toMatchObject({ status: 200, body: { [kind]: { labels: LABELS } } });
    for (const other of [{ ...LABELS, run: "8" }, { team: "ci" }, { ...LABELS, more: "" }, {}, undefined])
      expect(await post(mayfly, other), JSON.stringify(other)).toMatchObject({
        status: 409,
        body: { code: "spec_mismatch" },
      });
    expect((await mayfly.send("GET", `/v1/${plural}/one`)).body).toMatchObject({ [kind]: { labels: LABELS } });
  });

  it("left out are none, and the same as none", async () => {
    const mayfly = createMayfly();
    expect(await post(mayfly, undefined)).toMatchObject({ status: 201, body: { [kind]: { labels: {} } } });
    expect((await post(mayfly, {})).status).toBe(200);
  });

  it.each([
    ["a key of ours", { "mayfly-owner": "bob" }, "labels.mayfly-owner"],
    ["the one that the reaper reads", { created: "1" }, "labels.created"],
    ["one that the provider reserves", { "hetzner.cloud/a": "b" }, "labels.hetzner.cloud/a"],
    ["a key that is none", { "-a": "b" }, "labels.-a"],
    ["a value that is none", { a: "b:c" }, "labels.a"],
    ["a value that is no text", { a: 1 }, "labels.a"],
    ["33 of them", Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`a${index}`, ""])), "labels"],
    ["a list", ["a"], "labels"],
  ])("are refused by their field, and nothing was made: %s", async (_, labels, field) => {
    const mayfly = createMayfly();
    expect(await post(mayfly, labels)).toMatchObject({ status: 422, body: { code: "invalid_input", field } });
    expect(mayfly.simulator.requests()).toEqual([]);
  });

  it("are what a list is narrowed by, each owner's own alone", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const spared = kind === "ssh_key" ? "" : "two";
    await post(mayfly, LABELS, "one", alice);
    if (spared !== "") await post(mayfly, { team: "web" }, "two", alice);
    await post(mayfly, LABELS, "theirs");
    const list = async (selector: string) =>
      namesIn(
        await mayfly.send("GET", `/v1/${plural}?label_selector=${encodeURIComponent(selector)}`, undefined, alice),
        plural,
      );
    expect(await list("team=ci")).toEqual(["one"]);
    expect(await list("team in (ci,web),!run")).toEqual(spared === "" ? [] : ["two"]);
    expect(await list("team!=ci")).toEqual(spared === "" ? [] : ["two"]);
    expect(await list("run=8")).toEqual([]);
    const { body } = await mayfly.send("GET", `/v1/${plural}?label_selector=team=ci&per_page=1`, undefined, alice);
    expect(body).toMatchObject({ meta: { pagination: { total_entries: 1, next_page: null } } });
    for (const selector of ["mayfly-owner=alice", "a=b=c"])
      expect(await mayfly.send("GET", `/v1/${plural}?label_selector=${selector}`)).toMatchObject({
        status: 422,
        body: { field: "label_selector" },
      });
  });
});

it("a key that was there before keeps the labels that it has, whatever its next owner calls it", async () => {
  const mayfly = createMayfly();
  await behind(mayfly, "POST", "/ssh_keys", { name: "somebody's", public_key: KEY_A, labels: { theirs: "yes" } });
  const made = await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A, labels: LABELS });
  expect(made).toMatchObject({ status: 201, body: { ssh_key: { labels: LABELS } } });
  expect(mayfly.simulator.state().ssh_keys).toMatchObject([{ labels: { theirs: "yes" } }]);
});

it("one key under two owners' labels is one key, and the last of them deletes it", async () => {
  const mayfly = createMayfly();
  const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
  const key = { name: "me", public_key: KEY_A };
  await mayfly.send("POST", "/v1/ssh_keys", { ...key, labels: LABELS }, alice);
  await mayfly.send("POST", "/v1/ssh_keys", { ...key, labels: { other: "" } }, bob);
  await mayfly.send("DELETE", "/v1/ssh_keys/me", undefined, alice);
  expect(mayfly.simulator.state().ssh_keys).toHaveLength(1);
  await mayfly.send("DELETE", "/v1/ssh_keys/me", undefined, bob);
  expect(mayfly.simulator.state().ssh_keys).toEqual([]);
});

it("labels do not keep what is made with a machine, which has none, from going with it", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, labels: LABELS, firewalls: [{ deny_all: true }], ttl: "5m" });
  expect((await mayfly.send("GET", "/v1/firewalls")).body).toMatchObject({ firewalls: [{ labels: {} }] });
  await minutes(mayfly, 9);
  expect(mayfly.simulator.state().firewalls).toEqual([]);
});
