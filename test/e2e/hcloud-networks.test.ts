// The commands about networks, and those that bring servers into them.
import { describe, expect, it } from "vitest";
import { available, hcloudProject } from "./hcloud-project.ts";

describe.skipIf(!available)("hcloud network", () => {
  const { sim, succeed, refused, given, create, column } = hcloudProject();
  const make = (name = "net", range = "10.0.0.0/16"): Promise<string> =>
    succeed("network", "create", "--name", name, "--ip-range", range);
  const ZONE = ["--type", "cloud", "--network-zone", "eu-central"];
  const addSubnet = (name = "net", range = "10.0.1.0/24"): Promise<string> =>
    succeed("network", "add-subnet", name, ...ZONE, "--ip-range", range);
  const route = (command: string): string[] =>
    ["network", command, "net", "--destination", "10.100.1.0/24"].concat("--gateway", "10.0.1.1");

  it("create, add-subnet and add-route make one, and describe shows it", async () => {
    await make();
    await addSubnet();
    await succeed("network", "add-subnet", "net", ...ZONE);
    await succeed(...route("add-route"));
    expect(sim.state().networks).toMatchObject([
      {
        name: "net",
        subnets: [{ ip_range: "10.0.1.0/24", gateway: "10.0.0.1" }, { ip_range: "10.0.0.0/24" }],
        routes: [{ destination: "10.100.1.0/24", gateway: "10.0.1.1" }],
      },
    ]);
    const text = await succeed("network", "describe", "net");
    for (const part of ["10.0.0.0/16", "10.0.1.0/24", "10.100.1.0/24", "eu-central"]) expect(text).toContain(part);
  });

  it("remove-route and remove-subnet take both away again", async () => {
    await make();
    await addSubnet();
    await succeed(...route("add-route"));
    await succeed(...route("remove-route"));
    await succeed("network", "remove-subnet", "net", "--ip-range", "10.0.1.0/24");
    expect(sim.state().networks).toMatchObject([{ subnets: [], routes: [] }]);
  });

  it("is refused a public range, a subnet elsewhere and a route that is there", async () => {
    expect(await refused("network", "create", "--name", "net", "--ip-range", "8.8.8.0/24")).toContain(
      "(invalid_input)",
    );
    await make();
    const elsewhere = ["--ip-range", "10.1.0.0/24"];
    expect(await refused("network", "add-subnet", "net", ...ZONE, ...elsewhere)).toContain("(invalid_input)");
    await succeed(...route("add-route"));
    expect(await refused(...route("add-route"))).toContain("(invalid_input)");
  });

  it("change-ip-range, enable-protection and delete", async () => {
    await make();
    await succeed("network", "change-ip-range", "net", "--ip-range", "10.0.0.0/12");
    await succeed("network", "enable-protection", "net", "delete");
    expect(sim.state().networks).toMatchObject([{ ip_range: "10.0.0.0/12", protection: { delete: true } }]);
    expect(await refused("network", "delete", "net")).toContain("(protected)");
    await succeed("network", "disable-protection", "net", "delete");
    await succeed("network", "delete", "net");
    expect(await column("network", "name")).toEqual([]);
  });

  it("update, add-label and list -l", async () => {
    await make();
    await succeed("network", "update", "net", "--name", "lan");
    await succeed("network", "add-label", "lan", "env=ci");
    expect(await column("network", "name,ip_range,servers", "-l", "env=ci")).toEqual(["lan   10.0.0.0/16   0 server"]);
  });

  it("server attach-to-network and detach-from-network wait until the interface is there and gone", async () => {
    given();
    await make();
    await addSubnet();
    await succeed("server", "attach-to-network", "a", "--network", "net", "--ip", "10.0.1.7");
    expect(sim.state().servers).toMatchObject([{ private_net: [{ ip: "10.0.1.7" }] }]);
    expect(await succeed("server", "describe", "a")).toContain("10.0.1.7");
    expect(await column("server", "private_net")).toEqual(["10.0.1.7 (net)"]);
    expect(await refused("server", "attach-to-network", "a", "--network", "net")).toContain(
      "(server_already_attached)",
    );
    await succeed("server", "detach-from-network", "a", "--network", "net");
    expect(sim.state().servers).toMatchObject([{ private_net: [] }]);
  });

  it.each([
    ["no_subnet_available", []],
    ["ip_not_available", ["--ip", "10.0.1.0"]],
    ["networks_overlap", []],
  ])("server attach-to-network is refused with %s", async (code, args) => {
    given();
    await make();
    if (code !== "no_subnet_available") await addSubnet();
    if (code === "networks_overlap") {
      await make("wide", "10.0.0.0/8");
      await addSubnet("wide", "10.0.2.0/24");
      await succeed("server", "attach-to-network", "a", "--network", "wide");
    }
    expect(await refused("server", "attach-to-network", "a", "--network", "net", ...args)).toContain(`(${code})`);
  });

  it("repeats an attachment while the network is being changed", async () => {
    given();
    const { id } = given({ name: "b" });
    await make();
    await addSubnet();
    sim.fault({ method: "POST", path: "attach_to_network", status: 409, code: "conflict" });
    await succeed("server", "attach-to-network", "b", "--network", "net");
    expect(sim.state().networks).toMatchObject([{ servers: [id] }]);
  });

  it("server create --network makes a server in it, once there is a subnet", async () => {
    await make();
    expect((await create("a", "--network", "net")).stderr).toContain("no free IP available");
    await addSubnet();
    expect(await create("a", "--network", "net")).toMatchObject({ code: 0 });
    expect(sim.state().servers).toMatchObject([{ status: "running", private_net: [{ ip: "10.0.1.1" }] }]);
  });

  it("server create makes a server with nothing but a private network", async () => {
    await make();
    await addSubnet();
    expect(await create("a", "--network", "net", "--without-ipv4", "--without-ipv6")).toMatchObject({ code: 0 });
    expect(sim.state().servers).toMatchObject([{ status: "running", public_net: { ipv4: null, ipv6: null } }]);
  });
});
