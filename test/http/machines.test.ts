import { expect, it } from "vitest";
import { BODY, createMayfly, MINUTE } from "../mayfly.ts";

it("creates, lists, shows and destroys a machine", async () => {
  const mayfly = createMayfly();
  const created = await mayfly.send("PUT", "/v1/machines/first", { ...BODY, ttl: "60s" });
  expect(created.body).toMatchObject({ machine: { name: "first", status: "creating" } });
  expect(created.status).toBe(201);
  mayfly.advance(MINUTE / 2);
  const listed = await mayfly.send("GET", "/v1/machines");
  expect(listed.body.machines).toMatchObject([{ name: "first", status: "running" }]);
  const gone = await mayfly.send("DELETE", "/v1/machines/first");
  expect(gone.status).toBe(200);
  expect(gone.body.machine).toMatchObject({ status: "destroyed", reason: "requested" });
  expect(mayfly.simulator.state().servers).toEqual([]);
});
