import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyBody, anyMethod, anyRequest } from "./any-request.ts";
import { startSimulator } from "./client.ts";

const CONTROLS = ["reset", "clock", "servers", "images", "stock", "faults", "tick", "state", "requests"];

describe("whatever is sent", () => {
  it("the API answers with a known status and never with a failure of its own", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRequest, { maxLength: 12 }), async (requests) => {
        const { send } = startSimulator();
        for (const [method, path, text] of requests) {
          const { status } = await send(method, path, text);
          expect([200, 201, 204, 400, 401, 403, 404, 405, 409, 410, 412, 422, 423]).toContain(status);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("the control plane answers, and the API goes on working", async () => {
    const controls = fc.tuple(anyMethod, fc.constantFrom(...CONTROLS), anyBody);
    await fc.assert(
      fc.asyncProperty(fc.array(controls, { maxLength: 12 }), async (requests) => {
        const { sim, send } = startSimulator();
        for (const [verb, target, text] of requests) {
          const { status } = await send(verb, `/_sim/${target}`, verb === "GET" ? undefined : text);
          expect([200, 201, 404, 422, 501]).toContain(status);
        }
        sim.clearFaults();
        for (const target of [
          "servers?sort=name&sort=created",
          "images?sort=created&label_selector=a",
          "primary_ips",
          "servers/actions",
        ])
          expect(await send("GET", `/v1/${target}`)).toMatchObject({ status: 200 });
        for (const { id } of sim.state().servers)
          expect((await send("DELETE", `/v1/servers/${id}`)).status).not.toBe(500);
      }),
      { numRuns: 100 },
    );
  });
});
