import { describe, expect, it } from "vitest";
import { behind } from "../behind.ts";
import { BODY, createMayfly, machineIn, NOW, servers, type Mayfly } from "../mayfly.ts";

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

describe("a snapshot or a backup by its id", () => {
  const LENT = { "mayfly-image": "" };
  const put = (mayfly: Mayfly, image: number) => mayfly.send("PUT", "/v1/machines/a", { ...BODY, image });
  const rows = async (mayfly: Mayfly) =>
    (await mayfly.bindings.DB.prepare("SELECT uid FROM machines UNION SELECT uid FROM resources").all()).results.length;

  it("that nobody has set apart is somebody's disk: refused by its field before any row or server", async () => {
    const mayfly = createMayfly();
    for (const type of ["snapshot", "backup"] as const) {
      const { id } = mayfly.simulator.addImage({ type, labels: { role: "base" }, disk_size: 5 });
      expect(await put(mayfly, id)).toMatchObject({ status: 422, body: { code: "invalid_input", field: "image" } });
    }
    expect(await put(mayfly, 4711)).toMatchObject({ status: 422, body: { code: "invalid_input", field: "image" } });
    expect([servers(mayfly), await rows(mayfly)]).toEqual([[], 0]);
  });

  it("with the label `mayfly-image` boots", async () => {
    const mayfly = createMayfly();
    const { id } = mayfly.simulator.addImage({ labels: LENT, disk_size: 5 });
    expect((await put(mayfly, id)).status).toBe(201);
    expect(servers(mayfly)[0]?.image).toMatchObject({ id });
  });

  it("that is set apart no longer is not booted by a later try of an old row, and a machine that runs is still told", async () => {
    const mayfly = createMayfly();
    const image = mayfly.simulator.addImage({ labels: LENT, disk_size: 5 });
    const relabel = (labels: object) => behind(mayfly, "PUT", `/images/${image.id}`, { labels });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await put(mayfly, image.id)).status).toBe(503);
    await relabel({});
    expect(await put(mayfly, image.id)).toMatchObject({ status: 422, body: { field: "image" } });
    expect(servers(mayfly)).toEqual([]);
    await relabel(LENT);
    expect((await put(mayfly, image.id)).status).toBe(200);
    await relabel({});
    const before = mayfly.simulator.requests().length;
    expect((await put(mayfly, image.id)).status).toBe(200);
    expect(mayfly.simulator.requests()).toHaveLength(before);
  });

  it("is looked at once a create, and a name not at all", async () => {
    const mayfly = createMayfly();
    const { id } = mayfly.simulator.addImage({ labels: LENT, disk_size: 5 });
    const looks = () => mayfly.simulator.requests().filter(({ path }) => path.includes("/images/")).length;
    mayfly.simulator.stock({ server_type: "cx23", available: false, orderable: false });
    await mayfly.send("PUT", "/v1/machines/a", { ...BODY, server_type: ["cx23", "cx33"], image: id });
    expect([servers(mayfly).length, looks()]).toEqual([1, 1]);
    await mayfly.send("PUT", "/v1/machines/b", { ...BODY, server_type: "cx33", image: "debian-12" });
    expect([servers(mayfly).length, looks()]).toEqual([2, 1]);
  });
});
