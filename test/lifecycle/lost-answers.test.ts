import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
import { through } from "../trips.ts";
import { BODY, createMayfly, MINUTE, minutes, servers, type Mayfly } from "../mayfly.ts";

type When = "before" | "after";

/** A database whose trip of that number, counted from 0, is refused before it is made, or made and its answer lost. */
function losing(
  db: D1Database,
  number: number,
  when: When,
): { readonly db: D1Database; readonly isLost: () => boolean } {
  let trips = 0;
  const lost = through(db, async (_trip, send) => {
    if (trips++ !== number) return send();
    if (when === "after") await send();
    throw new Error("D1_ERROR: Network connection lost.");
  });
  return { db: lost, isLost: () => trips > number };
}

const WITH = { ...BODY, firewalls: ["web"], networks: ["lab"] };

async function ready(): Promise<{ mayfly: Mayfly; ann: string }> {
  const mayfly = createMayfly({ MAX_MACHINES: "20", MAX_EUR_PER_MONTH: "100" });
  const ann = await mayfly.tokenOf("ann");
  await minutes(mayfly, 2);
  await mayfly.send("GET", "/v1/server_types", undefined, ann);
  await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true }, ann);
  await mayfly.send("POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" }, ann);
  await mayfly.send("GET", "/v1/machines", undefined, ann);
  return { mayfly, ann };
}

/** One machine, with all that was asked for, of which the rows tell; and when it has ended nothing of it is left. */
async function isWhole(mayfly: Mayfly, ann: string): Promise<void> {
  const put = () => mayfly.send("PUT", "/v1/machines/box", WITH, ann);
  let again = await put();
  for (let more = 0; again.status >= 300 && more < 3; more++) {
    mayfly.advance(MINUTE);
    again = await put();
  }
  expect([200, 201], again.text).toContain(again.status);
  await minutes(mayfly, 2);
  expect(servers(mayfly)).toHaveLength(1);
  expect(servers(mayfly)[0]?.public_net.firewalls).toHaveLength(1);
  expect(servers(mayfly)[0]?.private_net).toHaveLength(1);
  const { results: uses } = await env.DB.prepare("SELECT * FROM resource_uses").all();
  expect(uses).toHaveLength(2);
  expect((await mayfly.send("DELETE", "/v1/firewalls/web", undefined, ann)).status).not.toBe(200);
  expect((await mayfly.send("DELETE", "/v1/machines/box", undefined, ann)).status).toBeLessThan(300);
  await minutes(mayfly, 5);
  expect(servers(mayfly)).toEqual([]);
  const { results: rows } = await env.DB.prepare("SELECT phase FROM machines").all();
  expect(rows).toEqual([{ phase: "destroyed" }]);
}

describe.each(["before", "after"] as const)("where the database loses a trip of a create (%s it is made)", (when) => {
  it.each([0, 1, 2, 3, 4])("trip %d, a repeat makes one machine, whole", async (number) => {
    const { mayfly, ann } = await ready();
    const { db, isLost } = losing(env.DB, number, when);
    mayfly.configure({ DB: db });
    await mayfly.send("PUT", "/v1/machines/box", WITH, ann);
    mayfly.configure({ DB: env.DB });
    expect(servers(mayfly).length).toBeLessThan(2);
    if (isLost()) await isWhole(mayfly, ann);
  });

  it.each([0, 1, 2, 3])(
    "trip %d, its caller gives up, and nothing is left when the lease has ended",
    async (number) => {
      const { mayfly, ann } = await ready();
      mayfly.configure({ DB: losing(env.DB, number, when).db });
      await mayfly.send("PUT", "/v1/machines/box", { ...WITH, ttl: "10m" }, ann);
      mayfly.configure({ DB: env.DB });
      await minutes(mayfly, 40);
      expect(servers(mayfly)).toEqual([]);
      const { results } = await env.DB.prepare(
        "SELECT phase FROM machines WHERE phase NOT IN ('destroyed', 'failed')",
      ).all();
      expect(results).toEqual([]);
    },
  );
});

describe.each(["before", "after"] as const)(
  "where the provider's answer to a create is lost (%s it is made)",
  (when) => {
    it.each([false, true])("and the look for it as well: %s, a repeat makes one machine, whole", async (isLookLost) => {
      const { mayfly, ann } = await ready();
      let isOver = false;
      between(mayfly, async (request, real) => {
        const isLook = request.method === "GET" && request.url.includes("name=");
        if (isOver || !(request.method === "POST" || (isLook && isLookLost))) return real(request);
        if (when === "after") await real(request);
        throw new Error("the line is cut");
      });
      await mayfly.send("PUT", "/v1/machines/box", WITH, ann);
      isOver = true;
      expect(servers(mayfly)).toHaveLength(when === "after" ? 1 : 0);
      await isWhole(mayfly, ann);
    });
  },
);

it("a create that is cut off between its row and the provider goes on with the repeat, whole", async () => {
  const { mayfly, ann } = await ready();
  const reached = Promise.withResolvers<void>();
  const never = Promise.withResolvers<Response>();
  let isCut = false;
  between(mayfly, async (request, real) => {
    if (request.method !== "POST" || isCut) return real(request);
    isCut = true;
    reached.resolve();
    return never.promise;
  });
  const cut = mayfly.app.request(
    "/v1/machines/box",
    { method: "PUT", headers: { Authorization: `Bearer ${ann}` }, body: JSON.stringify(WITH) },
    mayfly.bindings,
    { waitUntil: () => {}, passThroughOnException: () => {}, props: {} },
  );
  void Promise.allSettled([cut]);
  await reached.promise;
  expect(await mayfly.send("PUT", "/v1/machines/box", WITH, ann)).toMatchObject({ status: 200 });
  expect(servers(mayfly)).toEqual([]);
  mayfly.advance(31_000);
  await isWhole(mayfly, ann);
});
