import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machinesIn, servers, type Mayfly } from "../mayfly.ts";

async function withBox(): Promise<Mayfly> {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, labels: { run: "1" } });
  return mayfly;
}

describe("what would destroy by accident", () => {
  it("a teardown without a body is refused, and takes nothing down", async () => {
    const mayfly = await withBox();
    for (const body of [undefined, "", "  "]) {
      const answer = await mayfly.send("POST", "/v1/teardown", body);
      expect([answer.status, answer.body]).toMatchObject([400, { code: "malformed" }]);
    }
    expect(servers(mayfly)).toHaveLength(1);
    expect((await mayfly.send("POST", "/v1/teardown", {})).status).toBe(202);
    expect(servers(mayfly)).toEqual([]);
  });

  it("a body on a call that takes none is refused, and nothing is done: what it says would have been ignored", async () => {
    const mayfly = await withBox();
    const token = await mayfly.send("POST", "/v1/tokens", { owner: "alice" });
    const id = /"id":"(tok_[^"]+)"/.exec(token.text)?.[1] ?? "";
    const before = await env.DB.prepare("SELECT count(*) AS rows FROM events").first("rows");
    for (const [method, path] of [
      ["DELETE", "/v1/machines/box"],
      ["DELETE", "/v1/machines?label_selector=run%3D1"],
      ["DELETE", "/v1/firewalls/web"],
      ["DELETE", `/v1/tokens/${id}`],
      ["POST", "/v1/holds/blast_cap/release"],
    ] as const) {
      const { status, body } = await mayfly.send(method, path, { dry_run: true });
      expect([path, status, body]).toMatchObject([path, 422, { code: "invalid_input", field: "body" }]);
    }
    expect(await env.DB.prepare("SELECT count(*) AS rows FROM events").first("rows")).toBe(before);
    expect(servers(mayfly)).toHaveLength(1);
    expect((await mayfly.send("DELETE", "/v1/machines/box", " \n")).status).toBe(200);
  });

  it("a destruction of what a selector names says 200 where it names nothing, with an empty list", async () => {
    const mayfly = await withBox();
    const answer = await mayfly.send("DELETE", "/v1/machines?label_selector=run%3D2");
    expect([answer.status, machinesIn(answer), answer.body]).toMatchObject([200, [], { dry_run: false }]);
    expect((await mayfly.send("DELETE", "/v1/machines?label_selector=run%3D1")).status).toBe(202);
  });
});
