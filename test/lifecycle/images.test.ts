import { describe, expect, it } from "vitest";
import { createMayfly, machineIn, NOW, servers } from "../mayfly.ts";

const BASE = { label_selector: "role=base" };
const at = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();

describe("an image", () => {
  it("by name is the one of the server type's architecture, and by id just that one", async () => {
    const mayfly = createMayfly();
    const made = async (name: string, server_type: string, image: string | number) => {
      await mayfly.send("PUT", `/v1/machines/${name}`, { server_type, region: "fsn1", image });
      return servers(mayfly).at(-1)?.image;
    };
    expect(await made("a", "cx23", "debian-12")).toMatchObject({ name: "debian-12", architecture: "x86" });
    const arm = await made("b", "cax11", "debian-12");
    expect(arm).toMatchObject({ name: "debian-12", architecture: "arm" });
    expect(await made("c", "cax11", arm?.id ?? 0)).toMatchObject({ id: arm?.id });
  });

  it("by label_selector is the newest snapshot that the server type can boot, and the machine says which", async () => {
    const mayfly = createMayfly();
    const put = (created: string, architecture: "x86" | "arm", more = {}) =>
      mayfly.simulator.addImage({
        created,
        architecture,
        labels: { role: "base", "mayfly-image": "" },
        disk_size: 5,
        ...more,
      }).id;
    put(at(-9), "x86");
    const newest = put(at(-3), "x86");
    const arm = put(at(-8), "arm");
    put(at(-1), "x86", { status: "creating" });
    put(at(-1), "x86", { labels: { role: "other", "mayfly-image": "" } });
    put(at(-1), "x86", { labels: { role: "base" } });
    put(at(-1), "x86", { type: "backup" });
    for (const [name, server_type, id] of [
      ["a", "cx23", newest],
      ["b", "cax11", arm],
    ] as const) {
      const created = await mayfly.send("PUT", `/v1/machines/${name}`, { server_type, region: "fsn1", image: BASE });
      expect(created.status).toBe(201);
      expect(machineIn(created).image).toBe(String(id));
      expect(servers(mayfly).at(-1)?.image).toMatchObject({ id });
    }
    const repeat = await mayfly.send("PUT", "/v1/machines/a", { server_type: "cx23", region: "fsn1", image: BASE });
    expect([repeat.status, servers(mayfly).length]).toEqual([200, 2]);
  });

  it("that no snapshot is, or that no selector can name, is refused by its field, and nothing is made", async () => {
    const mayfly = createMayfly();
    const ask = (label_selector: string) =>
      mayfly.send("PUT", "/v1/machines/a", { server_type: "cx23", region: "fsn1", image: { label_selector } });
    expect(await ask("role=base")).toMatchObject({ status: 422, body: { field: "image" } });
    for (const wrong of ["", "!a", "a!=b", "a b", "mayfly-uid=x", "=", "a&type=system"])
      expect(await ask(wrong), wrong).toMatchObject({ status: 422, body: { field: "image.label_selector" } });
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/v1/machines")).body).toMatchObject({ machines: [] });
  });
});
