import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { writeToken } from "../../src/auth/token-form.ts";
import type { RequestContext } from "../../src/lifecycle/context.ts";
import { BODY, createMayfly, machineIn, machinesIn, mintedIn, servers } from "../mayfly.ts";
import { counting } from "../rows.ts";
import { once, tripping, tripsOf } from "../trips.ts";

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
