// `npm run openapi`: writes public/openapi.json, which is served beside the Worker, from the definitions by which it checks requests.
// With `--check` it writes nothing and fails where the file says something else.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OpenAPIHono } from "@hono/zod-openapi";
import { createApp } from "../../src/http/app.ts";
import { OPERATIONS, TAGS } from "./operations.ts";

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
  const known = new Set<string>();
  for (const { middleware: _runsAndIsNotTold, readsBody: _likewise, ...route } of createApp(host).definitions) {
    const name = `${route.method} ${route.path}`;
    const [operationId, tag] = operationOf(name);
    known.add(name);
    generator.openAPIRegistry.registerPath({ operationId, tags: [tag], ...route });
  }
  const gone = Object.keys(OPERATIONS).filter((route) => !known.has(route));
  if (gone.length > 0) throw new Error(`scripts/worker/operations.ts names what is no route: ${gone.join(", ")}`);
  generator.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  return generator.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "mayfly", version: "1" },
    security: [{ token: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  });
}

function operationOf(route: string) {
  const operation = OPERATIONS[route];
  if (operation === undefined) throw new Error(`scripts/worker/operations.ts has no name for ${route}`);
  return operation;
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
