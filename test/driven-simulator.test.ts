import { describe, expect, it } from "vitest";
import { createDrivenSimulator, refuseForbidden } from "./driven-simulator.ts";
import { createMayfly, NOW } from "./mayfly.ts";

const sources: Record<string, string> = import.meta.glob(["./**/*.ts", "!./e2e/**", "!./simulator/**"], {
  query: "?raw",
  import: "default",
  eager: true,
});

const post = (body: object): Promise<Response> =>
  createDrivenSimulator({ now: () => NOW }).fetch(
    new Request("https://hetzner.test/v1/servers", { method: "POST", body: JSON.stringify(body) }),
  );

describe("the check after every test", () => {
  it("S90: trap: fails when mayfly asks for anything below /datacenters", async () => {
    const mayfly = createMayfly({ HCLOUD_ENDPOINT: "https://hetzner.test/v1/datacenters" });
    await mayfly.send("PUT", "/v1/machines/a", { server_type: "cx23", region: "fsn1" });
    expect(refuseForbidden).toThrow("/v1/datacenters/");
  });

  it("S34: fails when a body has a datacenter, and not when a label is called so", async () => {
    await post({ datacenter: "fsn1-dc14" });
    expect(refuseForbidden).toThrow("POST /v1/servers with a datacenter");
    await post({ labels: { datacenter: "basement" } });
    expect(refuseForbidden).not.toThrow();
  });

  it("knows of every simulator that mayfly's driver is given", () => {
    const makers = Object.entries(sources).filter(([, text]) => /\bcreateSimulator\(/.test(text));
    expect(makers.map(([path]) => path)).toEqual(["./driven-simulator.ts"]);
  });
});
