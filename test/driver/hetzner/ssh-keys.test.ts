import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { failureOf, NOW } from "../contract/cloud.ts";
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { TOKEN } from "./bench.ts";

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMcOL20YlBkE4kAlePP9eFk/81YyJpa7cqTX2Q7Vs/b";
const OTHER =
  "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBIdLtg09xX+IVuAsDcTQuHz7b/M6xWpLCR7RcbW1gucE9CGXBPVAtWKBEqoQc9P37Cm1poHrMBCsZy38btdqcwY=";
const LABELS = { "mayfly-uid": "00000000-0000-4000-8000-000000000001", team: "red" };

function open() {
  const sim = createDrivenSimulator({ now: () => NOW });
  const fetch = (input: string, init: RequestInit) => sim.fetch(new Request(input, init));
  const { sshKeys } = createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    fetch,
  });
  return { sim, sshKeys, posts: () => sim.requests().filter(({ method }) => method === "POST").length };
}

describe("ensure", () => {
  it("S97: uploads a new key with its labels, and answers its id", async () => {
    const { sim, sshKeys } = open();
    const {
      key: { id },
      reused,
    } = await sshKeys.ensure("laptop", `${KEY} me@here\n`, LABELS);
    expect(reused).toBe(false);
    expect(sim.state().ssh_keys).toMatchObject([{ id: Number(id), name: "laptop", labels: LABELS }]);
  });

  it("case 32, S98, S101, S103: of the same key again, with any comment, is the key that is there, its labels untouched", async () => {
    const { sim, sshKeys } = open();
    const first = await sshKeys.ensure("laptop", KEY, LABELS);
    const again = await sshKeys.ensure("laptop", `${KEY} other@there`, { team: "blue" });
    expect(again).toEqual({ key: first.key, reused: true });
    expect(sim.state().ssh_keys).toMatchObject([{ labels: LABELS }]);
  });

  it("S100, S104, X6: trap: of the same key under another name is that key, not a conflict, and says that it is not ours", async () => {
    const { sim, sshKeys } = open();
    const first = await sshKeys.ensure("somebody-elses", KEY, {});
    expect(await sshKeys.ensure("laptop", KEY, LABELS)).toEqual({ key: first.key, reused: true });
    expect(sim.state().ssh_keys).toHaveLength(1);
  });

  it("S99, X6: trap: never answers with a key that nobody holds: an equal name with other bytes is a conflict", async () => {
    const { sshKeys } = open();
    await sshKeys.ensure("laptop", KEY, LABELS);
    expect(await failureOf(sshKeys.ensure("laptop", OTHER, LABELS))).toMatchObject({ code: "name_taken" });
  });

  it("S102: trap: of what is no key is bad input and no conflict, before any call; the provider's own refusal surfaces as what it is", async () => {
    const { sim, sshKeys, posts } = open();
    expect(await failureOf(sshKeys.ensure("laptop", "ssh-ed25519 AAAA", LABELS))).toMatchObject({
      code: "invalid_input",
      problem: { field: "public_key" },
    });
    expect(posts()).toBe(0);
    sim.fault({ method: "POST", path: "ssh_keys$", status: 422, code: "invalid_input", message: "invalid key" });
    expect((await failureOf(sshKeys.ensure("laptop", KEY, LABELS))).code).toBe("invalid_input");
  });

  it("whose answer is lost finds the key that was made, and knows it for its own", async () => {
    const { sim, sshKeys, posts } = open();
    sim.fault({ method: "POST", path: "ssh_keys$", drop: "after" });
    const {
      key: { id },
      reused,
    } = await sshKeys.ensure("laptop", KEY, LABELS);
    expect([reused, posts()]).toEqual([false, 1]);
    expect(sim.state().ssh_keys).toMatchObject([{ id: Number(id) }]);
    sim.fault({ method: "POST", path: "ssh_keys$", drop: "before" });
    expect(await failureOf(sshKeys.ensure("other", OTHER, LABELS))).toMatchObject({ ambiguous: true });
  });

  it.each([
    ["other bytes", { public_key: OTHER, labels: LABELS }],
    ["another uid", { public_key: KEY, labels: { "mayfly-uid": "00000000-0000-4000-8000-000000000009" } }],
    ["no labels", { public_key: KEY, labels: {} }],
  ])("whose answer has %s is not believed: the key is looked for", async (_, shown) => {
    const ensuring = (keys: readonly unknown[]) =>
      createHetznerCapabilities({
        token: TOKEN,
        endpoint: "https://hetzner.test/v1",
        now: () => NOW,
        fetch: async (_input, { method }) =>
          method === "POST"
            ? Response.json({ ssh_key: { id: 777, name: "laptop", ...shown } }, { status: 201 })
            : Response.json({ ssh_keys: keys, meta: { pagination: { next_page: null } } }),
      }).sshKeys.ensure("laptop", KEY, LABELS);
    const { key, reused } = await ensuring([{ id: 42, name: "laptop", public_key: KEY, labels: LABELS }]);
    expect([key.id, reused]).toEqual(["42", false]);
    expect(await failureOf(ensuring([]))).toMatchObject({ code: "unexpected", ambiguous: true });
  });

  it("S107: asks by a name of any characters", async () => {
    const { sshKeys } = open();
    const name = "my key & more=1,x";
    await sshKeys.ensure(name, KEY, LABELS);
    expect((await failureOf(sshKeys.ensure(name, OTHER, LABELS))).code).toBe("name_taken");
  });
});

describe("list and delete", () => {
  it("S105, S106: name the keys with these labels, and make one go away, twice", async () => {
    const { sim, sshKeys } = open();
    const { key } = await sshKeys.ensure("laptop", KEY, LABELS);
    await sshKeys.ensure("other", OTHER, { team: "blue" });
    expect(key).toMatchObject({ labels: LABELS, hasLabels: true, createdAt: NOW, machineIds: [] });
    expect(await sshKeys.list({ team: "red" })).toEqual([key]);
    expect(await sshKeys.get(key.id)).toEqual(key);
    expect(await sshKeys.list({})).toHaveLength(2);
    await sshKeys.delete(key.id);
    await sshKeys.delete(key.id);
    expect((await failureOf(sshKeys.get(key.id))).code).toBe("not_found");
    expect(sim.state().ssh_keys).toMatchObject([{ name: "other" }]);
    expect((await failureOf(sshKeys.delete("../1"))).code).toBe("invalid_input");
  });
});
