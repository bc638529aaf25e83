import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { githubClaims } from "../auth/issuer.ts";
import { createCallers, POLICIES } from "../auth/callers.ts";
import { between } from "../behind.ts";
import { BODY, createMayfly, machineIn, MINUTE, mintedIn, servers, type Answer, type Mayfly } from "../mayfly.ts";
import { once, tripsOf } from "../trips.ts";

/** Limits as a deployment has them that says none. */
const LIMITED = { MAX_MACHINES: "20", MAX_EUR_PER_MONTH: "100" };
const ADMIN = env.ADMIN_TOKEN;

/** mayfly with a known catalogue, whose caller has a firewall, a network and a machine that runs, and is known to be there. */
async function ready(mayfly: Mayfly, token: string): Promise<void> {
  await mayfly.tick();
  mayfly.advance(MINUTE);
  await mayfly.tick();
  for (const [method, path, body] of [
    ["PUT", "/v1/machines/box", BODY],
    ["POST", "/v1/firewalls", { name: "web", deny_all: true }],
    ["POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" }],
  ] as const) {
    const made = await mayfly.send(method, path, body, token);
    expect(made.status, made.text).toBe(201);
  }
  mayfly.advance(2 * MINUTE);
  await mayfly.tick();
}

const SMALL = { profiles: { small: { ...BODY, firewalls: ["web"] } } };

const CALLERS: Record<string, () => Promise<{ mayfly: Mayfly; token: string }>> = {
  "a minted token": async () => {
    const mayfly = createMayfly(LIMITED, SMALL);
    return { mayfly, token: await mayfly.tokenOf("ann") };
  },
  "an admin": async () => ({ mayfly: createMayfly(LIMITED, SMALL), token: ADMIN }),
  "a CI job": async () => {
    const callers = await createCallers({ configuration: { ...SMALL, policies: POLICIES }, settings: LIMITED });
    return {
      mayfly: callers.mayfly,
      token: await callers.sign(githubClaims({ exp: Math.floor(Date.UTC(2026, 11, 1) / 1000) })),
    };
  },
};

describe.each(Object.entries(CALLERS))("with %s", (_who, open) => {
  let mayfly: Mayfly;
  let token: string;
  beforeEach(async () => {
    ({ mayfly, token } = await open());
    await ready(mayfly, token);
  });
  const send = (method: string, path: string, body?: unknown) => async () => {
    const answer = await mayfly.send(method, path, body, token);
    expect(answer.status, answer.text).toBeLessThan(300);
  };
  const idOfBox = async () => machineIn(await mayfly.send("GET", "/v1/machines/box", undefined, token)).id;

  it("one machine is one trip, by its name and by its id", async () => {
    expect(await tripsOf(mayfly, send("GET", "/v1/machines/box"))).toHaveLength(1);
    expect(await tripsOf(mayfly, send("GET", `/v1/machines/${await idOfBox()}`))).toHaveLength(1);
  });

  it.each(["", "?status=running&per_page=5", "?status=destroyed", "?label_selector=a%3Db"])(
    "a list%s is one trip",
    async (query) => {
      expect(await tripsOf(mayfly, send("GET", `/v1/machines${query}`))).toHaveLength(1);
    },
  );

  it("a repeat is one trip", async () => {
    expect(await tripsOf(mayfly, send("PUT", "/v1/machines/box", BODY))).toHaveLength(1);
  });

  it.each([
    ["of one type", "PUT", "/v1/machines/new", BODY],
    [
      "of several types, of which one had no room",
      "PUT",
      "/v1/machines/new",
      { ...BODY, server_type: ["cx33", "cx23"] },
    ],
    ["under a name that is made for it", "POST", "/v1/machines", BODY],
    ["with what its owner has", "PUT", "/v1/machines/new", { ...BODY, firewalls: ["web"], networks: ["lab"] }],
    ["with what its profile names", "PUT", "/v1/machines/new", { profile: "small", ttl: "10m" }],
  ] as const)("a create %s is three trips and one call to the provider", async (_what, method, path, body) => {
    await mayfly.store.cooldowns.add("hetzner", { serverType: "cx33", region: "fsn1" }, mayfly.now() + MINUTE);
    const asked = mayfly.simulator.requests().length;
    const trips = await tripsOf(mayfly, send(method, path, body));
    expect(trips).toHaveLength(3);
    expect(trips[1]?.[0]).toMatch(/^INSERT INTO machines/);
    expect(mayfly.simulator.requests().slice(asked)).toMatchObject([{ method: "POST", path: "/v1/servers" }]);
    expect(servers(mayfly).at(-1)).toMatchObject({ server_type: { name: "cx23" } });
  });

  it("a renewal is three trips, and an end five", async () => {
    expect(await tripsOf(mayfly, send("POST", "/v1/machines/box/renew", { ttl: "2h" }))).toHaveLength(3);
    expect(await tripsOf(mayfly, send("DELETE", "/v1/machines/box"))).toHaveLength(5);
  });
});

describe("in an isolate that has asked the provider nothing yet, a create", () => {
  /** One that knows what D1 knows; what `before` asks, another isolate has asked. */
  async function cold(settings: Record<string, string> = {}) {
    await createMayfly(LIMITED).send("GET", "/v1/server_types");
    const mayfly = createMayfly({ ...LIMITED, ...settings });
    const made = await mayfly.send("PUT", "/v1/machines/box", BODY);
    return { made, asked: mayfly.simulator.requests().map(({ method, path }) => `${method} ${path}`) };
  }

  it("asks for the machine alone, and knows what it costs", async () => {
    const { made, asked } = await cold();
    expect(asked).toEqual(["POST /v1/servers"]);
    expect(machineIn(made)).toMatchObject({ price_eur_per_hour: 0.011424 });
  });

  it("asks for the currency too where that was learnt under another credential, whose project may pay in another", async () => {
    const { made, asked } = await cold({ HCLOUD_TOKEN: "another-hcloud-token" });
    expect(asked).toEqual(["GET /v1/pricing", "POST /v1/servers"]);
    expect(machineIn(made)).toMatchObject({ price_eur_per_hour: 0.011424 });
  });

  it("takes the price of the provider's answer all the same, and asks for the others with the catalogue", async () => {
    await createMayfly(LIMITED).send("GET", "/v1/server_types");
    const mayfly = createMayfly(LIMITED);
    mayfly.simulator.setPrices(150);
    expect(machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY))).toMatchObject({
      price_eur_per_hour: 0.01666,
    });
    mayfly.advance(11 * MINUTE);
    await mayfly.send("GET", "/v1/server_types");
    expect(machineIn(await mayfly.send("PUT", "/v1/machines/new", BODY))).toMatchObject({
      price_eur_per_hour: 0.017136,
    });
  });
});

describe("between the look of a create and its insert", () => {
  const cut = async (act: (mayfly: Mayfly, token: { id: string; secret: string }) => Promise<unknown>) => {
    const mayfly = createMayfly();
    const ann = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
    let status = 0;
    await tripsOf(
      mayfly,
      async () => {
        ({ status } = await mayfly.send("PUT", "/v1/machines/box", BODY, ann.secret));
      },
      once(/^INSERT INTO machines/, async () => {
        mayfly.configure({ DB: env.DB });
        await act(mayfly, ann);
      }),
    );
    expect(servers(mayfly)).toEqual([]);
    expect((await env.DB.prepare("SELECT * FROM machines").all()).results).toEqual([]);
    return status;
  };

  it("a token that is revoked makes nothing", async () => {
    expect(await cut((mayfly, { id }) => mayfly.send("DELETE", `/v1/tokens/${id}`))).toBe(409);
  });

  it("a name that is given up gets nothing", async () => {
    expect(
      await cut((mayfly, { secret }) => mayfly.send("DELETE", "/v1/machines/box?tombstone=1h", undefined, secret)),
    ).toBe(409);
  });
});

it("a create that took a while to write its row says once more what is tried, and holds the row from then on", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/first", BODY);
  const put = async () => expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(201);
  const trips = await tripsOf(
    mayfly,
    put,
    once(/^INSERT INTO machines/, async () => mayfly.advance(1000)),
  );
  expect(trips.map(([first]) => first?.slice(0, 20))).toEqual([
    "SELECT value FROM se",
    "INSERT INTO machines",
    "UPDATE machines SET ",
    "INSERT INTO events (",
  ]);
});

it("a create with a large body looks up what that names by itself", async () => {
  const mayfly = createMayfly();
  await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true });
  const body = { ...BODY, firewalls: ["web"], cloud_init: `#!/bin/sh\n${"#".repeat(32_000)}` };
  const put = async () => expect((await mayfly.send("PUT", "/v1/machines/box", body)).status).toBe(201);
  expect(await tripsOf(mayfly, put)).toHaveLength(3);
  const larger = {
    ...body,
    labels: { a: "b".repeat(63), c: "d".repeat(63) },
    cloud_init: `${body.cloud_init}${"#".repeat(700)}`,
  };
  const other = async () => expect((await mayfly.send("PUT", "/v1/machines/other", larger)).status).toBe(201);
  expect(await tripsOf(mayfly, other)).toHaveLength(4);
});

it("a firewall that is deleted between the look of a create and its insert is on no machine, and none is made", async () => {
  const mayfly = createMayfly();
  const ann = await mayfly.tokenOf("ann");
  await mayfly.send("PUT", "/v1/machines/first", BODY, ann);
  await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true }, ann);
  let answer: Answer | undefined;
  await tripsOf(
    mayfly,
    async () => {
      answer = await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"] }, ann);
    },
    once(/^INSERT INTO machines/, async () => {
      mayfly.configure({ DB: env.DB });
      await mayfly.send("DELETE", "/v1/firewalls/web", undefined, ann);
    }),
  );
  expect(answer).toMatchObject({ status: 409, body: { code: "releasing" } });
  expect(servers(mayfly)).toHaveLength(1);
  expect((await env.DB.prepare("SELECT * FROM resource_uses").all()).results).toEqual([]);
});

it("while a call is creating, its repeat is told of the machine to come, in one trip and without the provider", async () => {
  const mayfly = createMayfly();
  const ann = await mayfly.tokenOf("ann");
  const put = () => mayfly.send("PUT", "/v1/machines/box", BODY, ann);
  await mayfly.send("GET", "/v1/machines", undefined, ann);
  let repeat: { status: number; trips: number } | undefined;
  between(mayfly, async (request, real) => {
    if (request.method === "POST" && repeat === undefined) {
      let status = 0;
      const trips = await tripsOf(mayfly, async () => {
        ({ status } = await put());
      });
      repeat = { status, trips: trips.length };
    }
    return real(request);
  });
  expect((await put()).status).toBe(201);
  expect(repeat).toEqual({ status: 200, trips: 1 });
  expect(servers(mayfly)).toHaveLength(1);
});

it("an owner's word that comes between the insert and the provider's answer ends what is made", async () => {
  const mayfly = createMayfly();
  const ann = await mayfly.tokenOf("ann");
  let isDone = false;
  between(mayfly, async (request, real) => {
    if (request.method === "POST" && !isDone) {
      isDone = true;
      await mayfly.send("DELETE", "/v1/machines/box", undefined, ann);
    }
    return real(request);
  });
  const answer = await mayfly.send("PUT", "/v1/machines/box", BODY, ann);
  expect(answer).toMatchObject({ status: 409, body: { code: "released" } });
  expect(servers(mayfly)).toEqual([]);
});
