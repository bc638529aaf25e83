// The commands about SSH keys.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FINGERPRINT_A, KEY_A, KEY_B } from "../simulator/sample-keys.ts";
import { available, hcloudProject } from "./hcloud-project.ts";

describe.skipIf(!available)("hcloud ssh-key", () => {
  const { sim, succeed, refused, create, column, writes } = hcloudProject();
  const upload = (name: string, key: string, ...args: string[]): Promise<string> =>
    succeed("ssh-key", "create", "--name", name, "--public-key", key, ...args);
  const folder = mkdtempSync(join(tmpdir(), "mayfly-keys-"));

  afterAll(() => rmSync(folder, { recursive: true }));

  it("create uploads a key, and list and describe show it with the fingerprint that OpenSSH gives it", async () => {
    await upload("a", `${KEY_A} me@home`, "--label", "env=ci");
    expect(sim.state().ssh_keys).toMatchObject([{ name: "a", labels: { env: "ci" }, fingerprint: FINGERPRINT_A }]);
    expect(await column("ssh-key", "name,fingerprint,labels")).toEqual([`a   ${FINGERPRINT_A}   env=ci`]);
    expect(await succeed("ssh-key", "describe", "a")).toContain(FINGERPRINT_A);
  });

  it("create takes a file as it is, with the end of its line", async () => {
    const file = join(folder, "a.pub");
    writeFileSync(file, `${KEY_A} me@home\n`);
    await succeed("ssh-key", "create", "--name", "a", "--public-key-from-file", file);
    expect(sim.state().ssh_keys).toMatchObject([{ public_key: `${KEY_A} me@home` }]);
  });

  it("create is refused a taken name, a key that is there already, and what is no key", async () => {
    await upload("a", KEY_A);
    const attempt = (name: string, key: string): Promise<string> =>
      refused("ssh-key", "create", "--name", name, "--public-key", key);
    expect(await attempt("a", KEY_B)).toBe("hcloud: SSH key name is already used (uniqueness_error)");
    expect(await attempt("b", KEY_A)).toBe("hcloud: SSH key not unique (uniqueness_error)");
    expect(await attempt("b", "ssh-rsa AAAA")).toContain("(invalid_input)");
    expect(sim.state().ssh_keys).toHaveLength(1);
  });

  it("update, add-label and remove-label change the name and the labels", async () => {
    await upload("a", KEY_A, "--label", "env=ci");
    await succeed("ssh-key", "update", "a", "--name", "b");
    await succeed("ssh-key", "add-label", "b", "run=7");
    await succeed("ssh-key", "remove-label", "b", "env");
    expect(sim.state().ssh_keys).toMatchObject([{ name: "b" }]);
    expect(sim.state().ssh_keys[0]?.labels).toEqual({ run: "7" });
  });

  it("list selects by label", async () => {
    await upload("a", KEY_A, "--label", "env=ci");
    await upload("b", KEY_B);
    expect(await column("ssh-key", "name", "-l", "env=ci")).toEqual(["a"]);
    expect(await column("ssh-key", "name", "-l", "!env")).toEqual(["b"]);
  });

  it("delete takes a key away", async () => {
    await upload("a", KEY_A);
    await succeed("ssh-key", "delete", "a");
    expect(sim.state().ssh_keys).toEqual([]);
    expect(await refused("ssh-key", "delete", "a")).toContain("not found: a");
  });

  it("server create --ssh-key finds keys by name and by id, and prints no root password", async () => {
    await upload("a", KEY_A);
    await upload("b", KEY_B);
    const id = sim.state().ssh_keys[1]?.id;
    const ended = await create("a", "--ssh-key", "a", "--ssh-key", String(id));
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).not.toContain("Root password");
    expect(sim.state().servers).toMatchObject([{ ssh_keys: sim.state().ssh_keys.map((key) => key.id) }]);
    expect(writes()).toHaveLength(3);
  });
});
