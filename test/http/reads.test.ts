import { expect, it } from "vitest";
import { hostOf } from "../../src/invocation.ts";
import { createProviders } from "../../src/providers.ts";
import { createMayfly } from "../mayfly.ts";

it("what http/ reads through cannot write", async () => {
  const { runtime, bindings, store } = createMayfly();
  const host = hostOf(runtime, createProviders(), {});
  for (const { reads } of [host.openRequest(bindings, "request"), host.openHealth(bindings)]) {
    await reads.settings.releaseBlastCap(4711, 0);
    expect(await store.settings.blastCap(0)).toEqual({ releasedUntil: 0, heldUntil: 0 });
  }
  await store.settings.releaseBlastCap(4711, 0);
  expect(await host.openHealth(bindings).reads.settings.blastCap(0)).toMatchObject({ releasedUntil: 4711 });
});
