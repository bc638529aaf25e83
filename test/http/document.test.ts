import { describe, expect, it } from "vitest";
import * as z from "zod";
import { OPERATIONS } from "../answers.ts";
import { createMayfly } from "../mayfly.ts";
import description from "../../public/openapi.json" with { type: "json" };

const schema = z.looseObject({ type: z.string().optional(), default: z.unknown().optional() });
const operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()).length(1),
  parameters: z.array(z.object({ name: z.string(), in: z.string(), schema })).default([]),
});
const document = z.object({
  tags: z.array(z.object({ name: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});
const { tags, paths, components } = document.parse(description);
const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
const parameters = operations.flatMap((one) => one.parameters.filter((parameter) => parameter.in === "query"));

describe("the description for programs", () => {
  it("has every route that is served, by every method, and no other", () => {
    const told = OPERATIONS.map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`);
    const served = createMayfly()
      .app.routes.filter(({ method, path }) => method !== "ALL" && !path.includes("*"))
      .map(({ method, path }) => `${method} ${path}`);
    expect([...new Set(served)].sort()).toEqual(told.sort());
  });

  it("names each operation once, in a group that it lists", () => {
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z][A-Za-z]+$/.test(name))).toEqual([]);
    const groups = new Set(operations.flatMap((one) => one.tags));
    expect([...groups].sort()).toEqual(tags.map(({ name }) => name).sort());
  });

  it("gives each query parameter the type that a program has it in", () => {
    const typeOf = (named: string) =>
      new Set(parameters.filter(({ name }) => name === named).map((one) => one.schema.type));
    for (const name of ["page", "per_page", "wait"]) expect([name, ...typeOf(name)]).toEqual([name, "integer"]);
    for (const name of ["dry_run", "destroy"]) expect([name, ...typeOf(name)]).toEqual([name, "boolean"]);
    for (const name of ["status", "kind"]) expect([name, ...typeOf(name)]).toEqual([name, "array"]);
    for (const name of ["owner", "label_selector", "since"]) expect([name, ...typeOf(name)]).toEqual([name, "string"]);
  });

  it("has no default of another type than its parameter's", () => {
    const jsonType = (value: unknown) =>
      Number.isInteger(value) ? "integer" : Array.isArray(value) ? "array" : typeof value;
    const odd = parameters.filter(
      ({ schema: { type, default: value } }) => value !== undefined && jsonType(value) !== type,
    );
    expect(odd).toEqual([]);
  });

  it("names what answers are made of", () => {
    const named = [
      "Machine",
      "Firewall",
      "Network",
      "SshKey",
      "Token",
      "Event",
      "Sweep",
      "ServerType",
      "Usage",
      "Policy",
      "Problem",
    ];
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(named));
  });
});
