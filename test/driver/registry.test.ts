import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readSweepConfig } from "../../src/config.ts";
import { Misconfigured } from "../../src/machine/misconfigured.ts";
import { createProviders } from "../../src/providers.ts";
import { NOW, spec } from "./contract/cloud.ts";

const sources = import.meta.glob<string>("../../src/**/*.ts", { query: "?raw", import: "default", eager: true });

/** What a file of `src/` imports, as it says it. */
const importsOf = (source: string): string[] =>
  [...source.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].flatMap(([, target]) => target ?? []);

describe("the registry of drivers", () => {
  const world = {
    now: () => NOW,
    fetch: () => Promise.reject(new Error("nothing is sent here")),
    isSweep: false,
  };
  const config = readSweepConfig(env);

  it("P12: a provider that nobody knows is a setting to correct, and the known ones are named", () => {
    const open = createProviders();
    for (const provider of ["gcp", "", "Hetzner", "constructor", "__proto__"])
      expect(() => open({ ...config, provider }, world)).toThrow(
        expect.objectContaining({ name: "Misconfigured", key: "PROVIDER", rule: "must be one of hetzner, memory" }),
      );
    expect(Misconfigured).toBeTypeOf("function");
  });

  it("P12: the known ones open", async () => {
    const open = createProviders();
    const memory = open({ ...config, provider: "memory" }, world);
    const { providerId } = await memory.driver.create(spec());
    expect(await open({ ...config, provider: "memory" }, world).driver.get(providerId)).toMatchObject({ providerId });
    await expect(open({ ...config, provider: "hetzner" }, world).driver.get("42")).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("P11: the contract imports the domain alone, and one file outside knows the drivers there are", () => {
    expect(importsOf(sources["../../src/driver/driver.ts"] ?? "")).not.toEqual([]);
    for (const target of importsOf(sources["../../src/driver/driver.ts"] ?? ""))
      expect(target).toMatch(/^\.\.\/machine\//);
    const users = Object.entries(sources)
      .filter(([path]) => !path.startsWith("../../src/driver/"))
      .filter(([, source]) => importsOf(source).some((target) => /driver\/(hetzner|memory)/.test(target)))
      .map(([path]) => path);
    expect(users).toEqual(["../../src/providers.ts"]);
  });

  it("P7: no file outside the drivers looks into a provider's id", () => {
    const outside = Object.entries(sources).filter(([path]) => !path.startsWith("../../src/driver/"));
    const parsed = outside.filter(([, source]) =>
      /(Number|parseInt|BigInt)\([^()]*provider_?id|provider_?id\.(split|slice|match|replace|startsWith)/i.test(source),
    );
    expect(parsed.map(([path]) => path)).toEqual([]);
    expect(outside.length).toBeGreaterThan(20);
  });
});
