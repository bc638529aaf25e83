// The commands about what can be ordered and what else a project may hold.
import { describe, expect, it } from "vitest";
import { available, hcloudProject, lines } from "./hcloud-project.ts";

describe.skipIf(!available)("hcloud", () => {
  const { sim, succeed, refused, create, column } = hcloudProject();

  it("server-type list and describe show the types with their prices", async () => {
    const types = await column("server-type", "name");
    expect(types).toEqual(expect.arrayContaining(["cx23", "cax11", "cpx11", "ccx23"]));
    const text = await succeed("server-type", "describe", "cx23");
    for (const part of ["nbg1", "6.533100", "0.009996000000"]) expect(text).toContain(part);
    expect(await refused("server-type", "describe", "cx22")).toContain("not found: cx22");
  });

  it("location list and describe show the locations", async () => {
    expect(await column("location", "name")).toEqual(["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]);
    expect(await succeed("location", "describe", "ash")).toContain("us-east");
  });

  it("image list shows each name once per architecture", async () => {
    const images = await column("image", "name");
    expect(images.filter((name) => name === "debian-13")).toHaveLength(2);
  });

  it.each(["ssh-key", "network", "firewall", "volume"])("%s list is empty", async (kind) => {
    expect(lines(await succeed(kind, "list", "-o", "noheader"))).toEqual([]);
  });

  it("primary-ip list shows the addresses of a server, which cannot be deleted under it", async () => {
    await create("a");
    const addresses = lines(await succeed("primary-ip", "list", "-o", "noheader"));
    expect(addresses).toHaveLength(2);
    expect(addresses[0]).toMatch(/^\d+ +ipv4 .*(203\.0\.113|198\.51\.100|192\.0\.2)\.\d+ +Server a /);
    expect(addresses[1]).toMatch(/^\d+ +ipv6 .*2001:db8:0:[0-9a-f]+:: +Server a /);
    const id = sim.state().servers[0]?.public_net.ipv4?.id;
    expect(await refused("primary-ip", "delete", String(id))).toContain("(must_be_unassigned)");
  });

  it("datacenter list prints that it has been removed", async () => {
    expect(await refused("datacenter", "list")).toContain("(deprecated_api_endpoint)");
  });
});
