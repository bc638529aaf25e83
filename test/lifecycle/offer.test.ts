import { describe, expect, it } from "vitest";
import { slow } from "../behind.ts";
import { createMayfly, machineIn, MINUTE, servers, type Mayfly } from "../mayfly.ts";

const POST_SERVERS = { method: "POST", path: "^/v1/servers$" };
const UNSUPPORTED = {
  ...POST_SERVERS,
  status: 422,
  code: "invalid_input",
  message: "unsupported location for server type",
};
const put = (mayfly: Mayfly, body: object, name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, body);
const calls = ({ simulator }: Mayfly) => simulator.requests().map(({ method, path }) => `${method} ${path}`);
const posts = (mayfly: Mayfly) => calls(mayfly).filter((call) => call === "POST /v1/servers").length;

const NEVER: readonly (readonly [what: string, body: object, field: string, rule: string])[] = [
  ["a pair", { server_type: "cax11", region: "ash" }, "region", "must be one where cax11 is sold: fsn1, hel1, nbg1"],
  [
    "a type that is gone there",
    { server_type: "cpx31", region: "sin" },
    "region",
    "must be one where cpx31 is sold: ash, hil",
  ],
  [
    "an architecture in a region that has none of it",
    { arch: "arm64", region: ["ash", "hil"] },
    "region",
    "must be one where a server type of arm64 is sold: fsn1, hel1, nbg1",
  ],
  [
    "an architecture in a region that there is not",
    { arch: "arm64", region: "atlantis" },
    "region",
    "must be one of fsn1, hel1, nbg1",
  ],
];

describe("what is never sold is 422 with where it is, and nothing is left of it", () => {
  it.each(NEVER)("%s, where nothing is known yet: the catalogue is asked for", async (_what, body, field, rule) => {
    const mayfly = createMayfly();
    const refused = await put(mayfly, body);
    expect(refused).toMatchObject({ status: 422, body: { code: "invalid_input", field, rule } });
    expect(refused.headers.has("Retry-After")).toBe(false);
    expect(calls(mayfly)).toContain("GET /v1/server_types");
    expect(servers(mayfly)).toEqual([]);
    const before = calls(mayfly).length;
    expect(await put(mayfly, body, "again")).toMatchObject({ status: 422, body: { field, rule } });
    expect(calls(mayfly)).toHaveLength(before);
  });

  it.each(NEVER)(
    "%s, where the catalogue is known: nothing is asked and no row written",
    async (_what, body, field, rule) => {
      const mayfly = createMayfly();
      await mayfly.send("GET", "/v1/server_types");
      const before = calls(mayfly).length;
      expect(await put(mayfly, body)).toMatchObject({ status: 422, body: { code: "invalid_input", field, rule } });
      expect(calls(mayfly)).toHaveLength(before);
      expect((await mayfly.send("GET", "/v1/machines/box")).status).toBe(404);
    },
  );

  it("a pair under a limit in euro: it is told before a price that nobody can know", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "100" });
    expect(await put(mayfly, { server_type: "cax11", region: "ash" })).toMatchObject({
      status: 422,
      body: { code: "invalid_input", rule: "must be one where cax11 is sold: fsn1, hel1, nbg1" },
    });
    expect(posts(mayfly)).toBe(0);
  });

  it("a pair that the provider alone knows of: what was tried is told, and the row has ended for it", async () => {
    const mayfly = createMayfly();
    expect(await put(mayfly, { server_type: "cax11", region: ["ash", "hil"] })).toMatchObject({
      status: 422,
      body: {
        candidates: [
          { server_type: "cax11", region: "ash", outcome: "refused" },
          { server_type: "cax11", region: "hil", outcome: "refused" },
        ],
      },
    });
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "invalid_input",
    });
  });

  it("without a list where the catalogue cannot be had: the provider's refusal stands for itself", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "GET", path: "server_types", times: 9, status: 503, code: "unavailable" });
    expect(await put(mayfly, { server_type: "cax11", region: "ash" })).toMatchObject({
      status: 422,
      body: { code: "invalid_input", field: "region", rule: "must be one where the provider sells the server type" },
    });
  });

  it("an image that fits on no disk that is offered, whatever is sold", async () => {
    const mayfly = createMayfly();
    const message = "image disk is bigger than server type disk";
    mayfly.simulator.fault({ ...POST_SERVERS, status: 422, code: "invalid_input", message, times: 2 });
    expect(await put(mayfly, { server_type: "cx23", region: ["fsn1", "hel1"] })).toMatchObject({
      status: 422,
      body: {
        code: "invalid_input",
        field: "image",
        rule: "must fit on the server type's disk",
        next: "Correct the field and send again.",
      },
    });
  });
});

describe("what is not to be had now is 503", () => {
  it("an architecture that is sold there and out of stock", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.stock({ location: "fsn1", available: false });
    const refused = await put(mayfly, { arch: "arm64", region: "fsn1" });
    expect(refused).toMatchObject({ status: 503, body: { code: "capacity" } });
    expect(posts(mayfly)).toBe(0);
  });

  it("a pair that is never sold beside one that has no room", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.stock({ server_type: "cax11", location: "fsn1", orderable: false });
    expect(await put(mayfly, { server_type: "cax11", region: ["ash", "fsn1"] })).toMatchObject({
      status: 503,
      body: { code: "capacity", candidates: [{ outcome: "refused" }, { outcome: "capacity" }] },
    });
  });

  it("a disk that is too small for the image, beside one that has no room or was not tried", async () => {
    const mayfly = createMayfly();
    const message = "image disk is bigger than server type disk";
    mayfly.simulator.fault({ ...POST_SERVERS, status: 422, code: "invalid_input", message });
    mayfly.simulator.stock({ server_type: "cx33", location: "fsn1", orderable: false });
    const order = { server_type: ["cx23", "cx33"], region: "fsn1" };
    expect(await put(mayfly, order)).toMatchObject({
      status: 503,
      body: { code: "capacity", candidates: [{ outcome: "refused" }, { outcome: "capacity" }] },
    });
    const slowly = createMayfly();
    slowly.simulator.fault({ ...POST_SERVERS, status: 422, code: "invalid_input", message });
    slow(slowly, 19_000, undefined, ({ method }) => method === "POST");
    expect(await put(slowly, order)).toMatchObject({
      status: 503,
      body: { code: "capacity", candidates: [{ outcome: "refused" }, { outcome: "not_tried" }] },
    });
  });

  it("a pair that the provider says it does not sell, and that its catalogue has", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault(UNSUPPORTED);
    expect(await put(mayfly, { server_type: "cx23", region: "fsn1" })).toMatchObject({
      status: 503,
      body: { code: "capacity", candidates: [{ outcome: "refused" }] },
    });
    expect((await put(mayfly, { server_type: "cx23", region: "fsn1" })).status).toBe(201);
  });

  it("what a repeat is refused for, whose first try may have made the machine: its row waits for the next", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "before" });
    const order = { server_type: "cax11", region: "ash" };
    expect((await put(mayfly, order)).status).toBe(503);
    expect(await put(mayfly, order)).toMatchObject({ status: 503, body: { code: "capacity" } });
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).status).toBe("creating");
  });
});

it("a pair that is never sold is passed over where another is, and comes after the others for a while", async () => {
  const mayfly = createMayfly();
  const order = { server_type: "cax11", region: ["ash", "fsn1"] };
  expect((await put(mayfly, order)).body).toMatchObject({
    machine: {
      region: "fsn1",
      candidates: [
        { region: "ash", outcome: "refused" },
        { region: "fsn1", outcome: "chosen" },
      ],
    },
  });
  mayfly.advance(MINUTE);
  expect((await put(mayfly, order, "next")).body).toMatchObject({
    machine: {
      candidates: [
        { region: "fsn1", outcome: "chosen" },
        { region: "ash", outcome: "not_tried", reason: "was not to be had 60 s ago, and is tried after the others" },
      ],
    },
  });
});
