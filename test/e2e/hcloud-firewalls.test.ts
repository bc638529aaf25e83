// The commands about firewalls.
import { describe, expect, it } from "vitest";
import { available, hcloudProject } from "./hcloud-project.ts";

describe.skipIf(!available)("hcloud firewall", () => {
  const { sim, succeed, refused, runWith, given, create, column } = hcloudProject();
  const SSH = ["--direction", "in", "--protocol", "tcp", "--port", "22", "--source-ips", "0.0.0.0/0"];
  const make = (name: string, ...args: string[]): Promise<string> =>
    succeed("firewall", "create", "--name", name, ...args);
  const onServer = (command: string): string[] => ["firewall", command, "web", "--type", "server", "--server", "a"];
  const onSelector = (command: string): string[] =>
    ["firewall", command, "web", "--type", "label_selector"].concat("--label-selector", "env=ci");

  it("create makes one from a file of rules, and describe shows them", async () => {
    const rules = [{ direction: "in", protocol: "icmp", source_ips: ["10.0.0.0/8"], description: "ping" }];
    const args = ["firewall", "create", "--name", "web", "--label", "env=ci", "--rules-file", "-"];
    expect(await runWith(JSON.stringify(rules), ...args)).toMatchObject({ code: 0, stderr: "" });
    expect(sim.state().firewalls).toMatchObject([{ name: "web", labels: { env: "ci" }, rules }]);
    const text = await succeed("firewall", "describe", "web");
    for (const part of ["ping", "icmp", "10.0.0.0/8"]) expect(text).toContain(part);
  });

  it("create is refused a taken name and a bad rule", async () => {
    await make("web");
    expect(await refused("firewall", "create", "--name", "web")).toContain("(uniqueness_error)");
    const rules = [{ direction: "in", protocol: "tcp", source_ips: ["0.0.0.0/0"] }];
    const ended = await runWith(JSON.stringify(rules), "firewall", "create", "--name", "b", "--rules-file", "-");
    expect(ended.stderr).toContain("(invalid_input)");
  });

  it("add-rule and delete-rule keep the other rules", async () => {
    await make("web");
    const ping = ["--direction", "in", "--protocol", "icmp", "--source-ips", "::/0", "--description", "ping"];
    await succeed("firewall", "add-rule", "web", ...SSH);
    await succeed("firewall", "add-rule", "web", ...ping);
    expect(sim.state().firewalls).toMatchObject([{ rules: [{ port: "22" }, { protocol: "icmp", port: null }] }]);
    await succeed("firewall", "delete-rule", "web", ...SSH);
    expect(sim.state().firewalls).toMatchObject([{ rules: [{ protocol: "icmp" }] }]);
  });

  it("apply-to-resource and remove-from-resource wait until a server has it and has it no more", async () => {
    const { id } = given();
    await make("web");
    await succeed(...onServer("apply-to-resource"));
    expect(sim.state()).toMatchObject({
      servers: [{ public_net: { firewalls: [{ status: "applied" }] } }],
      firewalls: [{ applied_to: [{ type: "server", server: { id } }] }],
    });
    expect(await refused(...onServer("apply-to-resource"))).toContain("(firewall_already_applied)");
    await succeed(...onServer("remove-from-resource"));
    expect(sim.state()).toMatchObject({ firewalls: [{ applied_to: [] }] });
    await succeed(...onServer("remove-from-resource"));
  });

  it("a label selector is applied and removed as a whole", async () => {
    given({ labels: { env: "ci" } });
    await make("web");
    await succeed(...onSelector("apply-to-resource"));
    expect(await succeed("firewall", "describe", "web")).toContain("env=ci");
    expect(await refused(...onServer("remove-from-resource"))).toContain("(firewall_managed_by_label_selector)");
    await succeed(...onSelector("remove-from-resource"));
    await succeed("firewall", "delete", "web");
  });

  it("delete is refused while a server has it", async () => {
    given();
    await make("web");
    await succeed(...onServer("apply-to-resource"));
    expect(await refused("firewall", "delete", "web")).toContain("(resource_in_use)");
    await succeed(...onServer("remove-from-resource"));
    await succeed("firewall", "delete", "web");
    expect(await column("firewall", "name")).toEqual([]);
  });

  it("server create --firewall makes a server behind it", async () => {
    await make("web");
    expect(await create("a", "--firewall", "web")).toMatchObject({ code: 0 });
    expect(sim.state().servers).toMatchObject([{ public_net: { firewalls: [{ status: "applied" }] } }]);
  });

  it("update, add-label and list -l", async () => {
    await make("web");
    await succeed("firewall", "update", "web", "--name", "www");
    await succeed("firewall", "add-label", "www", "env=ci");
    expect(await column("firewall", "name,rules_count", "-l", "env=ci")).toEqual(["www   0 Rules"]);
  });

  it("is told that an action failed", async () => {
    given();
    await make("web");
    sim.fault({ method: "POST", action_error: { code: "stuck", message: "host is gone" } });
    expect(await refused(...onServer("apply-to-resource"))).toContain("host is gone (stuck)");
  });
});
