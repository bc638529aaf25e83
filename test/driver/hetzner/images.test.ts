import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { failureOf, NOW } from "../contract/cloud.ts";
import { TOKEN } from "./bench.ts";

const LENT = { "mayfly-image": "yes" };

function open() {
  const sim = createDrivenSimulator({ now: () => NOW });
  const fetch = (input: string, init: RequestInit) => sim.fetch(new Request(input, init));
  const options = { token: TOKEN, endpoint: "https://hetzner.test/v1", now: () => NOW, fetch };
  const { findSnapshot, checkImage } = createHetznerCapabilities(options);
  const put = (labels: Record<string, string> | null, more = {}) =>
    String(sim.addImage({ labels, created: "2026-11-30T09:00:00Z", disk_size: 5, ...more }).id);
  return { sim, put, findSnapshot: (by: string) => findSnapshot(by, "cx23"), checkImage };
}

const refused = { code: "invalid_input", retryable: false, ambiguous: false, problem: { field: "image" } };

describe("the snapshot that a selector means", () => {
  it("is one that whoever runs this has set apart, and never a newer one of somebody else's", async () => {
    const { put, findSnapshot } = open();
    const older = put({ role: "base", ...LENT });
    put({ role: "base" }, { created: "2026-11-30T11:00:00Z" });
    expect(await findSnapshot("role=base")).toBe(older);
    expect(await findSnapshot("role")).toBe(older);
    expect(await findSnapshot("role in (base,other),!gone")).toBe(older);
  });

  it("is none where only somebody else's has these labels", async () => {
    const { put, findSnapshot } = open();
    put({ role: "base" });
    put({ role: "base", "mayfly-imagery": "yes" });
    expect(await failureOf(findSnapshot("role=base"))).toMatchObject(refused);
  });

  it.each([
    "!nothing",
    "a!=b",
    "a notin (b,c)",
    "!a,b!=c",
    "",
    " ",
    "role=base,",
    "role=base&type=backup",
    "mayfly-image=yes",
  ])(
    "is not asked for with %j, which asks for nothing that it has, or for what is not the caller's to ask",
    async (selector) => {
      const { sim, put, findSnapshot } = open();
      put({ role: "base", ...LENT });
      const failure = await failureOf(findSnapshot(selector));
      expect(failure).toMatchObject({ code: "invalid_input", problem: { field: "image.label_selector" } });
      expect(sim.requests()).toEqual([]);
    },
  );

  it.each([
    ["without the label", { labels: { role: "base" }, type: "snapshot" }],
    ["whose labels cannot be read", { labels: null, type: "snapshot" }],
    ["that is no snapshot", { labels: { role: "base", ...LENT }, type: "backup" }],
  ])("is not one %s, though the provider shows it", async (_, shown) => {
    const meta = { pagination: { next_page: null } };
    const { findSnapshot } = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async (input) =>
        input.includes("server_types")
          ? Response.json({ server_types: [{ name: "cx23", architecture: "x86" }], meta })
          : Response.json({ images: [{ id: 7, ...shown }], meta }),
    });
    expect(await failureOf(findSnapshot("role=base", "cx23"))).toMatchObject(refused);
  });
});

describe("an image that is given outright", () => {
  it("may be one of the provider's, by name without a question, or by id", async () => {
    const { sim, checkImage } = open();
    await checkImage("debian-12");
    await checkImage("docker-ce");
    expect(sim.requests()).toEqual([]);
    await checkImage("114690387");
    expect(sim.requests()).toMatchObject([{ method: "GET", path: "/v1/images/114690387" }]);
  });

  it.each(["snapshot", "backup"] as const)(
    "may be a %s by its id only where it has the label, with any value",
    async (type) => {
      const { put, checkImage } = open();
      await checkImage(put({ "mayfly-image": "" }, { type }));
      for (const labels of [{}, { role: "base" }, null])
        expect(await failureOf(checkImage(put(labels, { type })))).toMatchObject(refused);
    },
  );

  it("of a kind that nobody knows yet is refused without the label", async () => {
    const answering = (type: unknown, id = 7) =>
      createHetznerCapabilities({
        token: TOKEN,
        endpoint: "https://hetzner.test/v1",
        now: () => NOW,
        fetch: async () => Response.json({ image: { id, type, labels: {} } }),
      }).checkImage("7");
    for (const type of ["temporary", "", null, 7]) expect(await failureOf(answering(type))).toMatchObject(refused);
    await expect(answering("app")).resolves.toBeUndefined();
    expect((await failureOf(answering("system", 8))).code).toBe("unexpected");
  });

  it("that is not there is bad input", async () => {
    expect(await failureOf(open().checkImage("9999"))).toMatchObject(refused);
  });

  it.each(["007", "1e3", "0x10", "7.0", "0", "9007199254740993", "Infinity"])(
    "written as %s, which a provider might read as an id, is refused before any call",
    async (image) => {
      const { sim, checkImage } = open();
      expect(await failureOf(checkImage(image))).toMatchObject(refused);
      expect(sim.requests()).toEqual([]);
    },
  );
});
