import { describe, expect, it } from "vitest";
import { readCapped } from "../../src/net/read-capped.ts";

const LIMIT = 200_000;
/** Chunks as they come, cut wherever the network cuts; how many were taken, and whether the rest was given up. */
function arriving(chunks: readonly Uint8Array[], headers: HeadersInit = {}) {
  const seen = { taken: 0, isCancelled: false };
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const chunk = chunks[seen.taken++];
      if (chunk !== undefined) return controller.enqueue(chunk.slice());
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel() {
      seen.isCancelled = true;
    },
  });
  return { response: new Response(body, { headers }), seen };
}
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const spaces = (count: number): Uint8Array => new Uint8Array(count).fill(32);

describe("a body that is read up to a limit", () => {
  it.each([
    ["with its size told", { "Content-Length": String(LIMIT) }],
    ["without", {}],
  ])("is read whole up to the last byte, %s", async (_, headers) => {
    const { response } = arriving([spaces(LIMIT - 1), bytes("x")], headers);
    expect(await readCapped(response, LIMIT)).toBe("x".padStart(LIMIT));
  });

  it.each([
    ["whose size is told", { "Content-Length": String(LIMIT + 1) }],
    ["whose size is not", {}],
    ["that comes packed, of which the told size says nothing", { "Content-Length": "9", "Content-Encoding": "gzip" }],
    ["whose told size is no number", { "Content-Length": "9, 9" }],
  ])("is none once it is longer, and the rest is not waited for: one %s", async (_, headers) => {
    const { response, seen } = arriving([spaces(LIMIT), ...Array.from({ length: 100 }, () => spaces(9_000))], headers);
    expect(await readCapped(response, LIMIT)).toBeNull();
    expect(seen.isCancelled).toBe(true);
    expect(seen.taken).toBeLessThan(100);
  });

  it("may cut its letters anywhere", async () => {
    const text = "Bär 🐻 ".repeat(9_000);
    const whole = bytes(text);
    const pieces = Array.from({ length: Math.ceil(whole.length / 7) }, (_, i) => whole.subarray(i * 7, i * 7 + 7));
    expect(await readCapped(arriving(pieces).response, LIMIT)).toBe(text);
  });

  it("may be absent or empty", async () => {
    expect(await readCapped(new Response(null), LIMIT)).toBe("");
    expect(await readCapped(new Response(""), LIMIT)).toBe("");
    expect(await readCapped(arriving([]).response, LIMIT)).toBe("");
  });

  it("may break off, which is an error", async () => {
    const broken = new ReadableStream({ type: "bytes", pull: (controller) => controller.error(new Error("cut")) });
    await expect(readCapped(new Response(broken), LIMIT)).rejects.toThrow("cut");
  });
});
