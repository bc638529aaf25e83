import { expect, it } from "vitest";
import { BODY, createMayfly, MINUTE, servers, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, cloud_init?: string) =>
  mayfly.send("PUT", "/v1/machines/box", { ...BODY, ...(cloud_init === undefined ? {} : { cloud_init }) });

it("a cloud_init that would be ignored is warned of at the create and at each repeat, and goes out as it is", async () => {
  const mayfly = createMayfly();
  for (const status of [201, 200]) {
    const answer = await put(mayfly, "echo hello");
    expect(answer).toMatchObject({
      status,
      body: {
        warnings: [expect.stringMatching(/^`cloud_init` begins with nothing that cloud-init knows.*`#cloud-config`/)],
      },
    });
    expect(answer.text).not.toContain("echo hello");
    // Whoever goes by `warning` alone is told of sweeps, as ever.
    expect(answer.body).not.toHaveProperty("warning");
  }
  expect(servers(mayfly)).toMatchObject([{ user_data: "echo hello" }]);
});

it("there is no word of warnings where there is nothing to warn of", async () => {
  for (const cloudInit of [undefined, "", "#cloud-config\n", "#!/bin/sh\n"])
    expect((await put(createMayfly(), cloudInit)).body).not.toHaveProperty("warnings");
});

it("a profile's is warned of as well, and silent sweeps beside it", async () => {
  const profiles = { odd: { ...BODY, cloud_init: "echo hello" } };
  const mayfly = createMayfly({}, { profiles });
  await mayfly.tick();
  mayfly.advance(30 * MINUTE);
  const { body } = await mayfly.send("PUT", "/v1/machines/box", { profile: "odd" });
  const silent: unknown = expect.stringContaining("no good sweep");
  const ignored: unknown = expect.stringContaining("cloud_init");
  expect(body).toMatchObject({ warning: silent, warnings: [silent, ignored] });
});
