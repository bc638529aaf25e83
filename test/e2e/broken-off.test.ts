import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { startStack, type Stack } from "../../scripts/stack.ts";

const settings = {
  ADMIN_TOKEN: "e2e-admin",
  HCLOUD_TOKEN: "e2e-hcloud",
  INSTALLATION: "local",
  POLICIES: "[]",
  PROFILES: "{}",
  ISSUERS: "[]",
};
const line = z.looseObject({ event: z.string() });
const HEAD = "PUT /v1/machines/a HTTP/1.1\r\nHost: mayfly\r\nAuthorization: Bearer e2e-admin\r\n";

describe("an upload that its sender breaks off", () => {
  let stack: Stack;
  const logged: z.infer<typeof line>[] = [];
  beforeAll(async () => {
    const onLog = (message: string) => {
      if (message.startsWith("{")) logged.push(line.parse(JSON.parse(message)));
    };
    stack = await startStack({ settings, onLog });
  });
  afterAll(() => stack.stop());

  it.each([
    ["of a length that was said", `${HEAD}Content-Length: 1000\r\n\r\n{"server_type":`],
    ["in chunks", `${HEAD}Transfer-Encoding: chunked\r\n\r\nf\r\n{"server_type":\r\n`],
  ])("%s is no error of ours, and makes nothing", async (_what, sent) => {
    logged.length = 0;
    const { hostname, port } = new URL(stack.url);
    const socket = connect(Number(port), hostname);
    await new Promise<void>((resolve) => socket.write(sent, () => resolve()));
    await wait(300);
    socket.destroy();
    await expect.poll(() => logged.filter(({ event }) => event === "request"), { timeout: 10_000 }).toHaveLength(1);
    expect(logged).toMatchObject([{ event: "request", status: 400, outcome: "malformed" }]);
    expect(stack.simulator?.controls.state().servers).toEqual([]);
  });
});
