// The Workers beside mayfly, bundled as mayfly is.
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Module } from "../stack.ts";

/** The bundle under measurement stands beside, under this name. */
const MAYFLY = "./mayfly.js";

const asBuilt: Plugin = {
  name: "mayfly-as-built",
  setup: (builder) => builder.onResolve({ filter: /\/src\/index\.ts$/ }, () => ({ path: MAYFLY, external: true })),
};

async function bundleOf(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../worker/bench/${name}.ts`, import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    minify: true,
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    plugins: [asBuilt],
  });
  return outputFiles[0]?.text ?? "";
}

/** Hono with routes that do the least. */
export const bareModules = async (): Promise<Module[]> => [{ path: "index.js", contents: await bundleOf("bare") }];

/** Hono alone, with next to no routes. */
export const honoAlone = (): Promise<string> => bundleOf("hono");

/** mayfly without its libraries, which no choice among them could make smaller. */
export async function ownCode(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../../src/index.ts", import.meta.url))],
    bundle: true,
    write: false,
    packages: "external",
    format: "esm",
    target: "es2024",
    minify: true,
  });
  return outputFiles[0]?.text ?? "";
}

/** mayfly as built, behind a count of its trips to D1. */
export const countingModules = async (mayfly: string): Promise<Module[]> => [
  { path: "index.js", contents: await bundleOf("counting") },
  { path: MAYFLY.replace("./", ""), contents: mayfly },
];
