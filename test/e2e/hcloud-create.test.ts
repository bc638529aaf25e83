// `hcloud server create`: what it sends, what comes of it, and what it is refused.
import { describe, expect, it } from "vitest";
import { IMAGES } from "../simulator/catalogue.ts";
import { available, hcloudProject } from "./hcloud-project.ts";

describe.skipIf(!available)("hcloud server create", () => {
  const { sim, run, runWith, succeed, refused, given, create, column, statuses, writes } = hcloudProject();
  const refusedCreate = (...args: string[]): Promise<string> =>
    refused("server", "create", "--name", "a", "--type", "cx23", "--image", "debian-13", ...args);

  it("makes a server with labels and user data, and waits until it has started", async () => {
    const where = ["--type", "cx33", "--image", "debian-13", "--location", "nbg1"];
    const labels = ["--label", "env=ci", "--label", "example.com/run=7"];
    const args = ["server", "create", "--name", "ci-1", ...where, ...labels, "--user-data-from-file", "-"];
    const ended = await runWith("#cloud-config\n", ...args);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toContain("Root password:");
    expect(sim.state().servers).toMatchObject([
      {
        name: "ci-1",
        status: "running",
        labels: { env: "ci", "example.com/run": "7" },
        user_data: "#cloud-config\n",
        server_type: { name: "cx33" },
        location: { name: "nbg1" },
      },
    ]);
    expect(writes()).toEqual(["POST /v1/servers"]);
  });

  it("makes an ARM server from the ARM image's id", async () => {
    // This client looks names up without an architecture and would send the x86 image.
    const arm = IMAGES.find((image) => image.name === "debian-13" && image.architecture === "arm");
    await succeed("server", "create", "--name", "a", "--type", "cax11", "--image", String(arm?.id));
    expect(sim.state().servers).toMatchObject([{ server_type: { name: "cax11" }, image: { architecture: "arm" } }]);
  });

  it("takes the type by id", async () => {
    await succeed("server", "create", "--name", "a", "--type", "115", "--image", "debian-13");
    expect(sim.state().servers).toMatchObject([{ server_type: { name: "cx33" } }]);
  });

  it("finds a deprecated image by name until it is gone", async () => {
    const args = ["--name", "a", "--type", "cx23", "--image", "debian-11"];
    expect(await run("server", "create", ...args)).toMatchObject({ code: 0 });
    sim.advance(30 * 86_400);
    expect(await refused("server", "create", ...args)).toBe("hcloud: image debian-11 is deprecated (invalid_input)");
  });

  it("leaves a server off when told not to start it", async () => {
    expect(await create("a", "--start-after-create=false")).toMatchObject({ code: 0 });
    expect(statuses()).toEqual(["off"]);
    await succeed("server", "poweron", "a");
    expect(statuses()).toEqual(["running"]);
  });

  it.each([
    ["--without-ipv4", /^- +2001:db8:\S+\/64$/],
    ["--without-ipv6", /^203\.0\.113\.\d+ +-$/],
  ])("%s leaves that address out", async (flag, addresses) => {
    expect(await create("a", flag)).toMatchObject({ code: 0 });
    expect(await column("server", "ipv4,ipv6")).toEqual([expect.stringMatching(addresses)]);
    expect(await column("primary-ip", "id")).toHaveLength(1);
  });

  it("does not even ask for a server without any network", async () => {
    expect(await refusedCreate("--without-ipv4", "--without-ipv6")).toContain("a server can not be created without");
    expect(writes()).toEqual([]);
  });

  it("is refused a name that is taken", async () => {
    given();
    expect(await refusedCreate()).toBe("hcloud: server name is already used (uniqueness_error)");
  });

  it("is refused a bad host name", async () => {
    expect(await refusedCreate("--name", "ci_1")).toBe("hcloud: invalid input in field 'name' (invalid_input)");
  });

  it("is refused bad labels", async () => {
    expect(await refusedCreate("--label", "env=a:b")).toBe("hcloud: invalid input in field 'labels' (invalid_input)");
  });

  it("is refused user data over 32 KiB", async () => {
    const args = ["server", "create", "--name", "a", "--type", "cx23", "--image", "debian-13"];
    const ended = await runWith("x".repeat(32_769), ...args, "--user-data-from-file", "-");
    expect(ended).toMatchObject({ code: 1, stderr: "hcloud: invalid input in field 'user_data' (invalid_input)\n" });
  });

  it.each([
    [["--type", "cx22"], "hcloud: server type not found (not_found)"],
    [["--location", "mars1"], "hcloud: location not found (not_found)"],
    [["--location", "ash"], "hcloud: unsupported location for server type (invalid_input)"],
    [["--image", "debian-7"], "hcloud: image not found: debian-7"],
    [["--network", "net"], "hcloud: network not found: net"],
    [["--firewall", "wall"], "hcloud: firewall not found: wall"],
    [["--datacenter", "fsn1-dc14"], "hcloud: invalid input in field 'datacenter' (invalid_input)"],
  ])("is refused %j", async (args, message) => {
    expect(await refusedCreate(...args)).toBe(message);
    expect(sim.state().servers).toEqual([]);
  });

  it("is refused a Primary IP that another server has", async () => {
    const { public_net } = given({ name: "b" });
    expect(await refusedCreate("--primary-ipv4", String(public_net.ipv4?.id))).toContain("(primary_ip_assigned)");
  });

  it("is refused a type that is out of stock", async () => {
    sim.stock({ server_type: "cx23", orderable: false });
    expect(await refusedCreate()).toBe("hcloud: error during placement (resource_unavailable)");
  });

  it("is refused a server over the limit", async () => {
    sim.reset({ limits: { servers: 1 } });
    given({ name: "b" });
    expect(await refusedCreate()).toBe("hcloud: server limit exceeded (resource_limit_exceeded)");
  });

  it.each([
    ["create_server", "no disk (failed)"],
    ["start_server", "no disk (failed)"],
  ])("reports that %s failed, and the server stays, off", async (command, message) => {
    sim.fault({ method: "POST", action_error: { command, code: "failed", message: "no disk" } });
    expect(await refusedCreate()).toContain(message);
    expect(await column("server", "name,status")).toEqual(["a   off"]);
  });

  it("notices a connection that is cut after the server was made", async () => {
    sim.fault({ method: "POST", path: "/servers$", drop: "after" });
    expect(await refusedCreate()).toContain("EOF");
    expect(await column("server", "name")).toEqual(["a"]);
  });
});
