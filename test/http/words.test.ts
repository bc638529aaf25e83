import { expect, it } from "vitest";
import { BODY, createMayfly, MINUTE } from "../mayfly.ts";

it("a refusal names the path, or the setting, that helps whoever came over HTTP", async () => {
  const mayfly = createMayfly();
  for (const order of [
    { arch: "arm64", region: "ash" },
    { ...BODY, server_type: "cx99" },
  ])
    expect((await mayfly.send("PUT", "/v1/machines/box", order)).body).toMatchObject({
      code: "invalid_input",
      next: "Correct the field: GET /v1/server_types lists what can be ordered now, and where.",
    });
  mayfly.simulator.stock({ available: false });
  mayfly.advance(11 * MINUTE);
  expect((await mayfly.send("PUT", "/v1/machines/box", { arch: "arm64", region: "fsn1" })).body).toMatchObject({
    code: "capacity",
    next: "GET /v1/server_types lists what can; offer more regions, or the same later.",
  });
  mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 401, code: "unauthorized", message: "no" });
  expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).body).toMatchObject({
    code: "provider_unauthorized",
    next: "An admin must check HCLOUD_TOKEN.",
  });
  mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 422, code: "invalid_input", message: "no" });
  const attached = { ...BODY, firewalls: [{ deny_all: true }] };
  expect((await mayfly.send("PUT", "/v1/machines/box", attached)).body).toMatchObject({
    code: "invalid_input",
    next: "If it is about a key, a firewall or a network that is gone there: DELETE yours here, create it anew; leave out what is named by `id:`.",
  });
  const moved = createMayfly({ INSTALLATION: "another-installation" });
  expect((await moved.send("PUT", "/v1/machines/box", BODY)).body).toMatchObject({
    code: "installation_changed",
    detail: "INSTALLATION is not the one that this database remembers.",
    next: "An admin must set it back, or list the old one in PREVIOUS_INSTALLATIONS so that its machines stay looked after.",
  });
  expect((await moved.send("GET", "/healthz")).text).toContain(
    "INSTALLATION is not the one that this database remembers.",
  );
});
