// The commands about images, and those that make one from a server and a server from one.
import { describe, expect, it } from "vitest";
import { available, hcloudProject } from "./hcloud-project.ts";

describe.skipIf(!available)("hcloud image", () => {
  const { sim, succeed, refused, run, given, column, statuses, writes } = hcloudProject();
  const snap = (...args: string[]): Promise<string> =>
    succeed("server", "create-image", "a", "--type", "snapshot", ...args);
  const made = (): string => String(sim.state().images[0]?.id);
  const put = (): string =>
    String(sim.addImage({ description: "golden", created: "2026-11-01T00:00:00+00:00", labels: { env: "ci" } }).id);
  const createFrom = (image: string, type = "cx23"): string[] =>
    ["server", "create", "--name", "b", "--type", type].concat("--image", image);

  it("server create-image waits until the image is there, and list and describe show it", async () => {
    const { id } = given();
    await snap("--description", "golden", "--label", "env=ci");
    expect(sim.state().images).toMatchObject([
      { type: "snapshot", status: "available", description: "golden", labels: { env: "ci" }, created_from: { id } },
    ]);
    expect(await column("image", "id,type,name,description", "--type", "snapshot")).toEqual([
      `${made()}   snapshot   -   golden`,
    ]);
    const text = await succeed("image", "describe", made());
    for (const part of ["snapshot", "available", "golden", "1.50 GB", "40 GB", "env: ci"]) expect(text).toContain(part);
  });

  it("server create-image makes a backup where backups are enabled alone", async () => {
    given();
    const { id } = given({ name: "b", backup_window: "22-02" });
    const backup = (name: string): string[] => ["server", "create-image", name, "--type", "backup"];
    expect(await refused(...backup("a"))).toBe("hcloud: invalid input in field 'type' (invalid_input)");
    await succeed(...backup("b"));
    expect(sim.state().images).toMatchObject([{ type: "backup", bound_to: id }]);
  });

  it("server create-image reports that the action failed", async () => {
    given();
    sim.fault({ method: "POST", action_error: { code: "failed", message: "no disk" } });
    expect(await refused("server", "create-image", "a", "--type", "snapshot")).toContain("no disk (failed)");
    expect(await column("image", "description", "--type", "snapshot")).toHaveLength(1);
    expect(sim.state().images).toMatchObject([{ status: "unavailable" }]);
  });

  it("list selects by type, label and architecture, beside Hetzner's own images", async () => {
    const id = put();
    const arm = sim.addImage({ architecture: "arm", created: "2026-11-01T00:00:00+00:00", labels: {} }).id;
    expect(await column("image", "id", "-l", "env=ci")).toEqual([id]);
    expect(await column("image", "id", "--type", "snapshot")).toEqual([id, String(arm)]);
    const all = await column("image", "id");
    expect(all.length).toBeGreaterThan(10);
    expect(all.slice(-2)).toEqual([id, String(arm)]);
  });

  it("update, add-label and remove-label change the description and the labels", async () => {
    const id = put();
    await succeed("image", "update", id, "--description", "silver");
    await succeed("image", "add-label", id, "run=7");
    await succeed("image", "remove-label", id, "env");
    expect(sim.state().images).toMatchObject([{ description: "silver" }]);
    expect(sim.state().images[0]?.labels).toEqual({ run: "7" });
  });

  it("update turns a backup into a snapshot", async () => {
    const { id } = sim.addImage({ type: "backup", bound_to: 7, created: "2026-11-01T00:00:00+00:00", labels: {} });
    await succeed("image", "update", String(id), "--type", "snapshot");
    expect(sim.state().images).toMatchObject([{ type: "snapshot", bound_to: null }]);
  });

  it("enable-protection, disable-protection and delete", async () => {
    const id = put();
    await succeed("image", "enable-protection", id, "delete");
    expect(await refused("image", "delete", id)).toContain("(protected)");
    await succeed("image", "disable-protection", id, "delete");
    await succeed("image", "delete", id);
    expect(sim.state().images).toEqual([]);
    expect(await refused("image", "delete", id)).toContain(`not found: ${id}`);
  });

  it("delete is refused an image of Hetzner's", async () => {
    expect(await refused("image", "delete", "317629862")).toContain("(invalid_input)");
  });

  it("server create --image makes a server from a snapshot, which can then be deleted", async () => {
    given();
    await snap("--description", "golden");
    const id = made();
    expect(await run(...createFrom(id))).toMatchObject({ code: 0 });
    await succeed("image", "delete", id);
    expect(statuses()).toEqual(["running", "running"]);
    expect(await succeed("server", "describe", "b")).toContain("golden");
    expect(writes()).toHaveLength(3);
  });

  it.each([
    ["cax11", {}, "image architecture does not match the server type"],
    ["cx23", { disk_size: 80 }, "image disk is bigger than server type disk"],
    ["cx23", { status: "creating" as const }, "is creating"],
  ])("server create --image is refused for %s and %j", async (type, seed, message) => {
    const { id } = sim.addImage({ created: "2026-11-01T00:00:00+00:00", labels: {}, ...seed });
    expect(await refused(...createFrom(String(id), type))).toContain(`${message} (invalid_input)`);
    expect(sim.state().servers).toEqual([]);
  });
});
