import { describe, expect, it } from "vitest";
import { createMayfly, BODY, LOCAL, servers } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

describe("while creates are off", () => {
  it("a create that was cut off is not finished", async () => {
    const mayfly = createMayfly(LOCAL);
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(503);
    mayfly.configure({ CREATES: "off" });
    const answer = await mayfly.send("PUT", "/v1/machines/box", BODY);
    expect([answer.status, servers(mayfly).length]).toEqual([503, 0]);
  });
  it("a key whose making was cut off is not made", async () => {
    const mayfly = createMayfly(LOCAL);
    mayfly.simulator.fault({ method: "POST", path: "^/v1/ssh_keys$", drop: "before" });
    const key = { name: "me", public_key: KEY_A };
    expect((await mayfly.send("POST", "/v1/ssh_keys", key)).status).toBe(503);
    mayfly.configure({ CREATES: "off" });
    const answer = await mayfly.send("POST", "/v1/ssh_keys", key);
    expect(answer.status).toBe(503);
  });
});
