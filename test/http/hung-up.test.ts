import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
import { BODY, createMayfly, MINUTE } from "../mayfly.ts";

const FIREWALL = { name: "web", deny_all: true };
const NETWORK = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" };

describe("whoever hangs up changes nothing: the platform is told to go on before the provider is asked", () => {
  it.each([
    ["PUT", "/v1/machines/other", BODY],
    ["DELETE", "/v1/machines/box", undefined],
    ["POST", "/v1/machines/box/renew", { ttl: "5h" }],
    ["POST", "/v1/machines/box/attach_to_network", { network: "lab" }],
    ["POST", "/v1/firewalls", { ...FIREWALL, name: "other" }],
    ["POST", "/v1/firewalls/web/apply_to_resources", { machines: ["box"] }],
    ["DELETE", "/v1/firewalls/web", undefined],
    ["POST", "/v1/sweeps", undefined],
  ])("%s %s", async (method, path, body) => {
    const mayfly = createMayfly();
    await mayfly.tick();
    await mayfly.send("PUT", "/v1/machines/box", BODY);
    await mayfly.send("POST", "/v1/firewalls", FIREWALL);
    await mayfly.send("POST", "/v1/networks", NETWORK);
    mayfly.advance(MINUTE);
    const kept: Promise<unknown>[] = [];
    const keptWhenAsked: number[] = [];
    between(mayfly, async (request, real) => {
      keptWhenAsked.push(kept.length);
      return real(request);
    });
    const headers = { Authorization: `Bearer ${env.ADMIN_TOKEN}` };
    const payload = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status } = await mayfly.app.request(path, { method, headers, ...payload }, mayfly.bindings, {
      waitUntil: (work: Promise<unknown>) => void kept.push(work),
      passThroughOnException: () => {},
      props: {},
    });
    await Promise.all(kept);
    expect(status).toBeLessThan(300);
    expect(keptWhenAsked).not.toEqual([]);
    expect(keptWhenAsked).not.toContain(0);
  });
});
