// The judge of the simulator: a client that nobody here wrote. Here are the commands about servers that exist.
import { describe, expect, it } from "vitest";
import { available, hcloudProject, lines } from "./hcloud-project.ts";

const inCi = process.env["CI"] !== undefined && process.env["CI"] !== "";
if (!available && !inCi) console.log("skipped: hcloud is not on the PATH (Debian: apt-get install hcloud-cli)");

it.runIf(inCi)("hcloud is installed where the tests must not be skipped", () => {
  expect(available).toBe(true);
});

describe.skipIf(!available)("hcloud server", () => {
  const { sim, run, succeed, refused, given, create, column, statuses, writes } = hcloudProject();

  describe("list", () => {
    it("shows nothing in an empty project", async () => {
      expect(await column("server", "name")).toEqual([]);
      expect(JSON.parse(await succeed("server", "list", "-o", "json"))).toBeNull();
    });

    it("walks through all pages", async () => {
      for (let number = 101; number <= 220; number += 1) given({ name: `s${number}` });
      const names = await column("server", "name");
      expect(names).toHaveLength(120);
      expect(names.at(-1)).toBe("s220");
      expect(sim.requests().map(({ query }) => new URLSearchParams(query).get("page"))).toEqual(["1", "2", "3"]);
    });

    it.each([
      ["env=ci", ["a", "b"]],
      ["env==ci", ["a", "b"]],
      ["env=ci,tier!=db", ["a"]],
      ["env in (prod,dev)", ["c"]],
      ["env notin (ci)", ["c", "d"]],
      ["env", ["a", "b", "c"]],
      ["!env", ["d"]],
      ["example.com/run", ["c"]],
      ["example.com/run=", ["c"]],
    ])("-l %j", async (selector, names) => {
      given({ name: "a", labels: { env: "ci" } });
      given({ name: "b", labels: { env: "ci", tier: "db" } });
      given({ name: "c", labels: { env: "prod", "example.com/run": "" } });
      given({ name: "d" });
      expect(await column("server", "name", "-l", selector)).toEqual(names);
    });

    it.each([
      ["a b", "hcloud: expected comma at pos 2 (invalid_input)"],
      ["env in (a", "hcloud: expected closing parenthesis at pos 9 (invalid_input)"],
      ["=a", "hcloud: expected label key at pos 0 (invalid_input)"],
    ])("-l %j says what is wrong with it", async (selector, message) => {
      expect(await refused("server", "list", "-l", selector)).toBe(message);
    });

    it("sorts by several fields, and says which it cannot sort by", async () => {
      given({ name: "a", created: "2026-11-02T00:00:00+00:00" });
      given({ name: "b", created: "2026-11-01T00:00:00+00:00" });
      given({ name: "c", created: "2026-11-01T00:00:00+00:00" });
      expect(await column("server", "name", "-s", "created", "-s", "name:desc")).toEqual(["c", "b", "a"]);
      expect(await refused("server", "list", "-s", "colour")).toContain("(invalid_input)");
    });

    it("shows addresses, labels and protection", async () => {
      given({ labels: { env: "ci", run: "7" }, protection: { delete: true, rebuild: true } });
      const [row] = await column("server", "ipv4,ipv6,labels,protection,status");
      expect(row).toMatch(/^(?:\d+\.){3}\d+ +2001:db8:0:[0-9a-f]+::\/64 +env=ci, run=7 +delete, rebuild +running$/);
    });

    it("-o json gives what the API said", async () => {
      const { id } = given({ labels: { env: "ci" } });
      expect(JSON.parse(await succeed("server", "list", "-o", "json"))).toMatchObject([
        { id, name: "a", labels: { env: "ci" }, created: "2026-11-01T00:00:00Z", locked: false },
      ]);
    });
  });

  describe("one server", () => {
    it("is described by name and by id", async () => {
      const { id } = given({ labels: { env: "ci" }, server_type: "cx33" });
      for (const which of ["a", String(id)]) {
        const text = await succeed("server", "describe", which);
        for (const part of ["Name:\t\ta", "Status:\t\trunning", "cx33", "env: ci", "debian-13"])
          expect(text).toContain(part);
      }
    });

    it("is described as JSON with -o json", async () => {
      const { id } = given();
      expect(JSON.parse(await succeed("server", "describe", "a", "-o", "json"))).toMatchObject({
        id,
        name: "a",
        server_type: { name: "cx23" },
        image: { name: "debian-13", architecture: "x86" },
        protection: { delete: false, rebuild: false },
      });
    });

    it("is not found when it is not there", async () => {
      expect(await refused("server", "describe", "nobody")).toBe("hcloud: server not found: nobody");
      expect(await refused("server", "describe", "4711")).toBe("hcloud: server not found: 4711");
    });
  });

  it("ip prints the addresses, the first of the IPv6 network", async () => {
    const { public_net } = given();
    expect(await succeed("server", "ip", "a")).toBe(`${public_net.ipv4?.ip ?? ""}\n`);
    expect(await succeed("server", "ip", "-6", "a")).toBe(`${public_net.ipv6?.ip.replace("/64", "1") ?? ""}\n`);
  });

  it("update renames, and nothing else", async () => {
    given({ labels: { env: "ci" } });
    await succeed("server", "update", "a", "--name", "b");
    expect(sim.state().servers).toMatchObject([{ name: "b", labels: { env: "ci" } }]);
    expect(await refused("server", "describe", "a")).toContain("server not found");
  });

  it("add-label and remove-label keep the other labels", async () => {
    given({ labels: { env: "ci" } });
    await succeed("server", "add-label", "a", "run=7");
    expect(sim.state().servers).toMatchObject([{ labels: { env: "ci", run: "7" } }]);
    await succeed("server", "add-label", "--overwrite", "a", "run=");
    expect(sim.state().servers).toMatchObject([{ labels: { env: "ci", run: "" } }]);
    await succeed("server", "remove-label", "a", "env");
    expect(sim.state().servers[0]?.labels).toEqual({ run: "" });
    await succeed("server", "remove-label", "--all", "a");
    expect(sim.state().servers[0]?.labels).toEqual({});
  });

  it("delete takes a server away by name and by id", async () => {
    const { id } = given();
    given({ name: "b" });
    await succeed("server", "delete", "b");
    await succeed("server", "delete", String(id));
    expect(sim.state().servers).toEqual([]);
    expect(await refused("server", "delete", "b")).toContain("erver not found: b");
  });

  it("delete refuses a protected server until the protection is lifted", async () => {
    given();
    await succeed("server", "enable-protection", "a", "delete", "rebuild");
    expect(sim.state().servers).toMatchObject([{ protection: { delete: true, rebuild: true } }]);
    expect(await refused("server", "delete", "a")).toContain("server deletion is protected (protected)");
    await succeed("server", "disable-protection", "a", "delete", "rebuild");
    await succeed("server", "delete", "a");
    expect(await column("server", "name")).toEqual([]);
  });

  it("poweroff, poweron, reboot, reset and shutdown wait for their actions", async () => {
    given();
    const seen: string[] = [];
    for (const command of ["poweroff", "poweron", "reboot", "reset", "shutdown", "reset"]) {
      await succeed("server", command, "a");
      seen.push(...statuses());
    }
    expect(seen).toEqual(["off", "running", "running", "running", "off", "running"]);
    expect(writes()).toHaveLength(6);
  });

  it("sees in a list what was made, until it is deleted", async () => {
    expect(await create("a", "--label", "env=ci")).toMatchObject({ code: 0 });
    expect(await column("server", "name,status", "-l", "env=ci")).toEqual(["a   running"]);
    expect(await run("server", "delete", "a")).toMatchObject({ code: 0, stderr: "" });
    expect(lines(await succeed("primary-ip", "list", "-o", "noheader"))).toEqual([]);
  });
});
