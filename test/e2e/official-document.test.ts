// The simulator's answers against Hetzner's own OpenAPI document, which this repository does not carry:
// HETZNER_OPENAPI names a copy of https://docs.hetzner.cloud/cloud.spec.json.
import * as fc from "fast-check";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { anyRequest } from "../simulator/any-request.ts";
import { OPERATIONS } from "../simulator/routes.ts";
import { createSimulator, type Simulator } from "../simulator/simulator.ts";
import { complaints, judged, officialDocument, operationOf } from "./official-document-judge.ts";
import type { Step } from "./official-document-step.ts";
import { STORY } from "./official-document-story.ts";

const document = officialDocument();
if (document === null) console.log("skipped: HETZNER_OPENAPI names no copy of Hetzner's OpenAPI document");

const START_MS = Date.UTC(2026, 10, 15, 12);
// A rate limit of 2 an hour, which the story ends with, must not be refilled by it.
const PAUSE_SECONDS = 5;

const simulator = (): Simulator => createSimulator({ now: () => START_MS });

const titleOf = ({ what, method, path, status }: Step): string => `${what}: ${method} ${path} is ${status}`;

function requestOf({ method, path, body, token }: Step): Request {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Request(`https://api.hetzner.cloud/v1${path}`, {
    method,
    headers: token === false ? {} : { Authorization: "Bearer token" },
    ...(text !== undefined && { body: text }),
  });
}

describe.skipIf(document === null)("every answer is what Hetzner's document says", () => {
  const { sim, faults } = judged(simulator(), document);
  const codes = new Set<string>();

  it.each(STORY.map((step) => [titleOf(step), step] as const))("%s", async (_title, step) => {
    if (step.pause !== false) sim.advance(PAUSE_SECONDS);
    step.fate?.(sim);
    const response = await sim.fetch(requestOf(step));
    expect(response.status).toBe(step.status);
    expect(faults.splice(0)).toEqual([]);
    for (const match of (await response.text()).matchAll(/^\{"error":\{"code":"(\w+)"/g)) codes.add(match[1] ?? "");
  });

  it("and the story reaches every operation", () => {
    const reached = STORY.map(({ method, path }) => operationOf(method, path.replace(/\?.*/, "")));
    expect([...new Set(reached)].filter((operation) => operation !== null).toSorted()).toEqual(OPERATIONS.toSorted());
  });

  it("and every refusal that the simulator's source knows, but for its own failure", () => {
    const folder = new URL("../simulator/", import.meta.url);
    const source = readdirSync(folder)
      .filter((file) => !file.endsWith(".test.ts"))
      .map((file) => readFileSync(new URL(file, folder), "utf8"));
    const known = [...source.join("\n").matchAll(/new ApiError\(\s*\w+,\s*"(\w+)"/g)].map((match) => match[1] ?? "");
    expect([...codes].toSorted()).toEqual([...new Set(known)].filter((code) => code !== "server_error").toSorted());
  });

  it("whatever is sent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRequest, { maxLength: 12 }), async (requests) => {
        const { sim: fresh, faults: found } = judged(simulator(), document);
        for (const [method, path, body] of requests) {
          const headers = { Authorization: "Bearer token" };
          const init = { method, headers, ...(body !== undefined && { body }) };
          await fresh.fetch(new Request(`https://api.hetzner.cloud${path}`, init));
        }
        expect(found).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe.skipIf(document === null)("the check", () => {
  const check = (method: string, path: string, status: number, body: unknown): string[] =>
    document === null ? [] : complaints(document, method, path, status, body);

  it("notices what is missing, mistyped or malformed", () => {
    const action = {
      id: "1",
      command: "x",
      status: "done",
      progress: 0,
      started: "today",
      finished: null,
      resources: [],
    };
    expect(check("GET", "/v1/actions/1", 200, { action })).toEqual([
      expect.stringContaining('body.action.id: "1" fails type "integer"'),
      expect.stringContaining('body.action.status: "done" fails enum'),
      expect.stringContaining('body.action.started: "today" fails format'),
      expect.stringContaining("fails required"),
    ]);
    expect(check("GET", "/v1/locations", 200, { locations: [], meta: { pagination: null }, more: 1 })).toHaveLength(2);
  });

  it("lets an operation that the document lacks be refused, in the envelope of all refusals, and no more", () => {
    const error = { code: "not_found", message: "404 page not found" };
    expect(check("GET", "/v1/nothing", 404, { error })).toEqual([]);
    expect(check("GET", "/v1/nothing", 404, { error: "not found" })).toHaveLength(1);
    expect(check("PATCH", "/v1/servers", 200, {})).toEqual(["PATCH /v1/servers: the document has no PATCH /servers"]);
  });

  it("holds an operation that the document may lack against what its answers are made of", () => {
    const faults = check("POST", "/v1/servers/1/actions/create_image", 201, { image: {}, action: {} });
    for (const part of ["body.image: {} fails required", "body.action: {} fails required"])
      expect(faults).toContainEqual(expect.stringContaining(part));
    expect(check("GET", "/v1/images/1/actions", 200, { actions: [{}] })).not.toEqual([]);
    expect(check("POST", "/v1/images/1/actions/change_protection", 200, {})).not.toEqual([]);
  });

  it("notices it in an answer that passes by", async () => {
    const { sim, faults } = judged(simulator(), document);
    sim.fault({ status: 200, body: { servers: [] } });
    const response = await sim.fetch(new Request("https://api.hetzner.cloud/v1/servers"));
    expect(await response.json()).toEqual({ servers: [] });
    expect(faults).toEqual([expect.stringContaining("GET /v1/servers: body: ")]);
  });
});
