// `npm run openapi`: writes public/openapi.json, which is served beside the Worker, from the definitions by which it checks requests.
// With `--check` it writes nothing and fails where the file says something else.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OpenAPIHono } from "@hono/zod-openapi";
import { createApp } from "../../src/http/app.ts";

const FILE = join(import.meta.dirname, "../../public/openapi.json");

function documentOf(): unknown {
  const unused = (): never => {
    throw new Error("no request is served here");
  };
  const host = {
    now: unused,
    newUid: unused,
    log: unused,
    openRequest: unused,
    openBrakes: unused,
    openHealth: unused,
  };
  const generator = new OpenAPIHono();
  for (const { middleware: _runsAndIsNotTold, ...route } of createApp(host).definitions)
    generator.openAPIRegistry.registerPath(route);
  generator.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  return generator.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "mayfly", version: "1" },
    security: [{ token: [] }],
  });
}

/** JSON with lines of their own down to each method of a path, so that a diff shows what has changed. */
function linesOf(value: unknown, levels: number): string {
  if (levels === 0 || typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${linesOf(field, levels - 1)}`);
  return `{\n${fields.join(",\n")}\n}`;
}

const text = `${linesOf(documentOf(), 3)}\n`;
if (!process.argv.includes("--check")) writeFileSync(FILE, text);
else if (readFileSync(FILE, "utf8") !== text) {
  console.error("public/openapi.json is not what the routes say: npm run openapi");
  process.exitCode = 1;
}
