import { describe, expect, it } from "vitest";
import * as z from "zod";
import { startSimulator } from "./client.ts";

const FIRST_ID = 400_000_001;
const PATH = `/v1/images/${FIRST_ID}`;

const LIST = z.object({ images: z.array(z.object({ description: z.string() })) });

function startWithImages() {
  const started = startSimulator();
  /** The descriptions that a list answers, in order. */
  async function descriptions(query: string): Promise<string[]> {
    const { body } = await started.send("GET", `/v1/images${query}`);
    return LIST.parse(body).images.map(({ description }) => description);
  }
  return { ...started, descriptions };
}

const invalid = (message: string) => ({ status: 422, body: { error: { code: "invalid_input", message } } });
const invalidField = (name: string) => ({
  status: 422,
  body: { error: { code: "invalid_input", details: { fields: [{ name }] } } },
});

describe("GET /images", () => {
  it.each([
    ["?type=snapshot", ["one", "two", "half"]],
    ["?type=snapshot&type=backup", ["one", "two", "half", "nightly"]],
    ["?type=snapshot&status=creating", ["half"]],
    ["?type=snapshot&architecture=arm", ["two"]],
    ["?label_selector=env=ci", ["one"]],
    ["?type=snapshot&label_selector=!env", ["two", "half"]],
    ["?bound_to=7", ["nightly"]],
    ["?type=snapshot&name=one", []],
    ["?type=snapshot&sort=created:desc", ["half", "one", "two"]],
    ["?type=snapshot&sort=id:desc&per_page=1&page=2", ["two"]],
    ["?name=debian-13&architecture=x86&type=system", ["Debian 13"]],
  ])("%s", async (query, expected) => {
    const { sim, descriptions } = startWithImages();
    sim.addImage({ description: "one", created: "2026-11-02T00:00:00+00:00", labels: { env: "ci" } });
    sim.addImage({ description: "two", created: "2026-11-01T00:00:00+00:00", architecture: "arm" });
    sim.addImage({ description: "half", status: "creating" });
    sim.addImage({ description: "nightly", type: "backup", bound_to: 7 });
    expect(await descriptions(query)).toEqual(expected);
  });

  it("shows snapshots beside and behind Hetzner's own images", async () => {
    const { sim, descriptions } = startWithImages();
    sim.addImage({ description: "golden" });
    const shown = await descriptions("?per_page=50");
    expect(shown).toContain("Debian 12");
    expect(shown.at(-1)).toBe("golden");
  });
});

describe("one image", () => {
  it("is described and relabelled anew; its labels are replaced as a whole", async () => {
    const { sim, send } = startWithImages();
    sim.addImage({ description: "golden", labels: { env: "ci", run: "7" } });
    expect(await send("PUT", PATH, { labels: { run: "8" } })).toMatchObject({
      status: 200,
      body: { image: { description: "golden" } },
    });
    await send("PUT", PATH, { description: "silver" });
    const { body } = await send("GET", PATH);
    expect(body).toMatchObject({ image: { description: "silver", type: "snapshot" } });
    expect(body).toHaveProperty("image.labels", { run: "8" });
  });

  it("turns from a backup into a snapshot of its own, never back", async () => {
    const { sim, send } = startWithImages();
    sim.addImage({ type: "backup", bound_to: 7 });
    expect((await send("PUT", PATH, { type: "snapshot" })).body).toMatchObject({
      image: { type: "snapshot", bound_to: null },
    });
    expect(await send("PUT", PATH, { type: "backup" })).toMatchObject(invalidField("type"));
  });

  it("is deleted with 204, and its id is not used again", async () => {
    const { sim, send } = startWithImages();
    sim.addImage({});
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204, body: "" });
    for (const method of ["GET", "PUT", "DELETE"])
      expect(await send(method, PATH, method === "GET" ? undefined : {})).toMatchObject({
        status: 404,
        body: { error: { message: "image not found" } },
      });
    expect(sim.state().images).toEqual([]);
    expect(sim.addImage({})).toMatchObject({ id: FIRST_ID + 1 });
  });

  it("is not deleted while it is protected or being created", async () => {
    const { sim, send, snap, running } = startWithImages();
    const { id } = await running();
    await snap(id);
    const busy = { status: 423, body: { error: { code: "locked", message: "image is locked" } } };
    expect(await send("DELETE", PATH)).toMatchObject(busy);
    expect(await send("POST", `${PATH}/actions/change_protection`, { delete: true })).toMatchObject(busy);
    sim.advance(1);
    expect(await send("POST", `${PATH}/actions/change_protection`, { delete: true })).toMatchObject({
      status: 201,
      body: { action: { command: "change_protection", resources: [{ id: FIRST_ID, type: "image" }] } },
    });
    sim.advance(1);
    expect(await send("DELETE", PATH)).toMatchObject({ status: 423, body: { error: { code: "protected" } } });
    await send("POST", `${PATH}/actions/change_protection`, { delete: false });
    sim.advance(1);
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
  });

  it("is protected only if it is a snapshot", async () => {
    const { sim, send } = startWithImages();
    sim.addImage({ type: "backup" });
    const answer = await send("POST", `${PATH}/actions/change_protection`, { delete: true });
    expect(answer).toMatchObject(invalid("only snapshots can be protected"));
  });

  it.each([
    ["PUT", ""],
    ["DELETE", ""],
    ["POST", "/actions/change_protection"],
  ])("of Hetzner's own is not changed: %s %s", async (method, path) => {
    const { send } = startWithImages();
    const answer = await send(method, `/v1/images/317629862${path}`, { description: "mine", delete: true });
    expect(answer).toMatchObject(invalid("only images of type snapshot and backup can be changed"));
    expect((await send("GET", "/v1/images/317629862")).body).toMatchObject({ image: { description: "Debian 13" } });
  });
});

describe("an image put in as given", () => {
  it("is answered with its id, kept in the state and found by the API", async () => {
    const { sim, send } = startWithImages();
    const given = {
      description: "old",
      labels: { a: "b" },
      architecture: "arm",
      created: "2020-01-01T00:00:00Z",
      status: "unavailable",
      type: "backup",
    };
    const { status, body } = await send("POST", "/_sim/images", given);
    expect(status).toBe(201);
    expect(body).toMatchObject({ image: { id: FIRST_ID, name: null, ...given } });
    expect((await send("GET", PATH)).body).toEqual(body);
    expect(sim.state().images).toMatchObject([given]);
  });

  it("has no created and no labels when none are given, and is listed and deleted all the same", async () => {
    const { sim, send, descriptions } = startWithImages();
    sim.addImage({ description: "bare" });
    sim.addImage({ description: "odd", created: "yesterday", labels: null });
    expect(await descriptions("?type=snapshot&sort=created&label_selector=!a")).toEqual(["bare", "odd"]);
    expect(sim.state().images[0]).not.toHaveProperty("created");
    expect(sim.state().images[0]).not.toHaveProperty("labels");
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
  });

  it("may have any id that is free", async () => {
    const { sim, send } = startWithImages();
    expect(sim.addImage({ id: 7 })).toMatchObject({ id: 7 });
    for (const id of [7, 317629862, "x"])
      expect(await send("POST", "/_sim/images", { id })).toMatchObject({ status: 422 });
    expect(sim.state().images).toHaveLength(1);
  });
});
