import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { writeToken } from "../../src/auth/token-form.ts";
import type { RequestContext } from "../../src/lifecycle/context.ts";
import { githubClaims } from "../auth/issuer.ts";
import { createCallers, POLICIES } from "../auth/callers.ts";
import { between } from "../behind.ts";
import {
  BODY,
  createMayfly,
  machineIn,
  machinesIn,
  MINUTE,
  mintedIn,
  servers,
  type Answer,
  type Mayfly,
} from "../mayfly.ts";
import { counting } from "../rows.ts";
import { tripping, type Trip } from "../trips.ts";

/** Limits as a deployment has them that says none. */
const LIMITED = { MAX_MACHINES: "20", MAX_EUR_PER_MONTH: "100" };
const ADMIN = env.ADMIN_TOKEN;

/** The trips that a call makes; `before` is called with each as it sets out. */
async function tripsOf(
  mayfly: Mayfly,
  act: () => Promise<unknown>,
  before?: (trip: Trip) => Promise<unknown> | undefined,
): Promise<Trip[]> {
  const { db, trips } = tripping(env.DB, before);
  mayfly.configure({ DB: db });
  await act();
  mayfly.configure({ DB: env.DB });
  return trips;
}

/** Does something once, just before the first trip with a statement that matches. */
function once(pattern: RegExp, act: () => Promise<unknown>): (trip: Trip) => Promise<unknown> | undefined {
  let isDone = false;
  return (trip) => {
    if (isDone || !trip.some((text) => pattern.test(text))) return undefined;
    isDone = true;
    return act();
  };
}

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

describe("what was read ahead", () => {
  it("is of nobody but the caller, whoever else has a machine of that name or asks by its id", async () => {
    const mayfly = createMayfly();
    const [ann, bob] = [await mayfly.tokenOf("ann"), await mayfly.tokenOf("bob")];
    const hers = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann));
    for (const ref of ["box", hers.id])
      expect((await mayfly.send("GET", `/v1/machines/${ref}`, undefined, bob)).status).toBe(404);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines", undefined, bob))).toEqual([]);
    const his = await mayfly.send("PUT", "/v1/machines/box", BODY, bob);
    expect(his.status).toBe(201);
    for (const [token, { id }] of [
      [ann, hers],
      [bob, machineIn(his)],
    ] as const) {
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box", undefined, token)).id).toBe(id);
      expect(machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, token)).id).toBe(id);
      expect(machinesIn(await mayfly.send("GET", "/v1/machines", undefined, token)).map((one) => one.id)).toEqual([id]);
    }
  });

  it("is an owner's where an admin names one, and everybody's in a list where it names none", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    const { id } = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann));
    const his = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY));
    const idsOf = async (query: string) =>
      machinesIn(await mayfly.send("GET", `/v1/machines${query}`)).map((one) => one.id);
    expect([await idsOf(""), await idsOf("?owner=tok.ann"), await idsOf("?owner=admin")]).toEqual([
      [id, his.id],
      [id],
      [his.id],
    ]);
    expect(machineIn(await mayfly.send("PUT", "/v1/machines/box?owner=tok.ann", BODY)).id).toBe(id);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box?owner=tok.ann")).id).toBe(id);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).id).toBe(his.id);
  });

  it("is gone once something was written: a create whose name was taken since its look answers the machine that has it", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    const put = (name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, BODY, ann);
    await put("first");
    let status = 0;
    const trips = await tripsOf(
      mayfly,
      async () => {
        ({ status } = await put());
      },
      once(/^INSERT INTO machines/, async () => {
        mayfly.configure({ DB: env.DB });
        await put();
      }),
    );
    expect(status).toBe(200);
    expect(trips.flat().filter((text) => text.startsWith("SELECT * FROM machines WHERE rowid"))).toHaveLength(2);
    expect(servers(mayfly)).toHaveLength(2);
  });

  const ASKS: Parameters<RequestContext["store"]["ahead"]["ofOwner"]>[1] = ({ settings, lock }) => [
    settings.installation(),
    lock.read(),
  ];
  const serve = (installation: string) =>
    env.DB.prepare("INSERT INTO settings VALUES ('installation', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1")
      .bind(installation)
      .run();

  it("answers once", async () => {
    const { store } = createMayfly().context();
    await serve("one");
    await store.ahead.ofOwner("tok.ann", ASKS);
    await serve("two");
    expect(await store.settings.installation()).toBe("one");
    expect(await store.settings.installation()).toBe("two");
  });

  it.each<[string, (context: RequestContext) => Promise<unknown>]>([
    ["written", ({ store }) => store.tombstones.set("tok.bob", "other", 1, 0)],
    ["asked of the provider", ({ driver }) => driver.list({ a: "b" })],
    ["waited for", ({ sleep }) => sleep(1)],
  ])("answers nothing any more once something was %s", async (_what, act) => {
    const context = createMayfly().context();
    await serve("one");
    await context.store.ahead.ofOwner("tok.ann", ASKS);
    await serve("two");
    await act(context);
    expect(await context.store.settings.installation()).toBe("two");
  });

  it("is no older than a body that came slowly", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    const first = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann)).id;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const text = new TextEncoder().encode(JSON.stringify(BODY));
    const context = createExecutionContext();
    const headers = { Authorization: `Bearer ${ann}` };
    const coming = mayfly.app.request(
      "/v1/machines/box",
      { method: "PUT", headers, body: readable },
      mayfly.bindings,
      context,
    );
    await writer.write(text.slice(0, 5));
    expect((await mayfly.send("DELETE", "/v1/machines/box", undefined, ann)).status).toBe(200);
    await writer.write(text.slice(5));
    await writer.close();
    const answer = await coming;
    await waitOnExecutionContext(context);
    expect(answer.status).toBe(201);
    expect(JSON.stringify(await answer.json())).not.toContain(first);
  });

  it("is not there for a wait: who waits is told what has become of the machine meanwhile", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", BODY, ann);
    for (const method of ["GET", "PUT"]) {
      const waited = await mayfly.send(method, "/v1/machines/box?wait=30", method === "PUT" ? BODY : undefined, ann);
      expect(machineIn(waited).status).toBe("running");
    }
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

describe("a token that is let in nowhere", () => {
  const CALLS = [
    ["GET", "/v1/machines/box"],
    ["GET", "/v1/machines"],
    ["PUT", "/v1/machines/box", BODY],
    ["PUT", "/v1/machines/box", "no JSON"],
    ["PUT", "/v1/machines/box", "x".repeat(300_000)],
    ["POST", "/v1/machines", BODY],
    ["POST", "/v1/machines/box/renew", { ttl: "1h" }],
    ["DELETE", "/v1/machines/box"],
  ] as const;

  it("finds nothing but that, in one trip, whatever its call and its body are", async () => {
    const mayfly = createMayfly();
    const { id, secret } = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
    const { id: machine } = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, secret));
    await mayfly.send("DELETE", `/v1/tokens/${id}`);
    for (const token of [secret, await writeToken(new Uint8Array(32))])
      for (const [method, path, body] of [...CALLS, ["GET", `/v1/machines/${machine}`] as const]) {
        const { db, rows } = counting(env.DB);
        const { db: tripped, trips } = tripping(db);
        mayfly.configure({ DB: tripped });
        expect(await mayfly.send(method, path, body, token), `${method} ${path}`).toMatchObject({ status: 401 });
        expect(trips).toHaveLength(1);
        // Statements find the row of the token, if there is one, and stop there.
        expect(rows.read).toBeLessThanOrEqual(token === secret ? trips.flat().length + 1 : 1);
        expect(rows.written).toBe(0);
      }
  });

  it("one that is let in is told of its body as before", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    expect((await mayfly.send("PUT", "/v1/machines/box", "no JSON", ann)).status).toBe(400);
    expect((await mayfly.send("PUT", "/v1/machines/box", "x".repeat(300_000), ann)).status).toBe(413);
  });
});
