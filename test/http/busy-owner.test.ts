import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { brakeOn } from "../brakes.ts";
import { type Answer, BODY, createMayfly, machineIn, MINUTE, NOW, servers, type Mayfly } from "../mayfly.ts";
import { become, newDatabase } from "../simulation/world/copies.ts";
import { asD1 } from "../simulation/world/database.ts";
import { withSqlite } from "../simulation/world/sim-db.ts";

const MINUTES = 20;
/** How long a call takes by the played clock: at this pace an address exceeds its rate. */
const CALL_MS = 85;

type Call = readonly [method: string, path: string, body?: unknown, token?: string];

/** All that an owner may ask for, over and over, right and wrong. */
function* everything(): Generator<Call, never> {
  for (let round = 0; ; round++) {
    const path = `/v1/machines/busy-${round % 7}`;
    const body = { ...BODY, ttl: "60s" };
    yield ["PUT", path, body];
    yield ["POST", `${path}/renew`, { ttl: "2m" }];
    yield ["GET", path];
    yield ["POST", "/v1/firewalls", { name: `busy-${round % 3}`, deny_all: true }];
    yield ["DELETE", path];
    yield ["DELETE", `/v1/firewalls/busy-${round % 3}`];
    yield ["POST", "/v1/machines", body];
    yield ["PUT", path, body];
    yield ["PUT", path, "{"];
    yield ["PUT", path, { ...body, server_typ: "cx23" }];
    yield ["GET", "/v1/machines", undefined, "wrong"];
    yield ["GET", "/v1/machines"];
    yield ["GET", "/v1/server_types"];
    if (round % 50 === 49) yield ["POST", "/v1/teardown", {}];
  }
}

it("an owner that calls as often as it can keeps no other from its calls, and no machine from its end", async () => {
  // The same SQL without the hop to D1, which would take most of the time of so many calls.
  await withSqlite(async (database) => {
    await become(database, newDatabase(NOW));
    const mayfly = createMayfly();
    mayfly.configure({ DB: asD1(database, env.DB), ...rates(mayfly) });
    const busy = await mayfly.tokenOf("busy");
    const quiet = await quietOwner(mayfly);
    const calls = everything();
    for (let minute = 0; minute < MINUTES; minute++) {
      const end = mayfly.now() + MINUTE;
      await callWildly(mayfly, calls, busy, end);
      await quiet.live(minute);
      mayfly.advance(Math.max(0, end - mayfly.now()));
      await mayfly.tick();
      expect(quiet.late()).toEqual([]);
    }
    // All this has really been asked of one project, whose limit is Hetzner's.
    expect(mayfly.simulator.state().rate_limit.limit).toBe(3600);
  });
}, 300_000);

const rates = ({ now }: Mayfly) => ({ ADDRESS_BRAKE: brakeOn(now, 600), ACCOUNT_BRAKE: brakeOn(now, 60) });

/** Calls to the minute's end, and is refused for its account and for its address. */
async function callWildly(mayfly: Mayfly, calls: Generator<Call, never>, own: string, end: number): Promise<void> {
  mayfly.callFrom("203.0.113.66");
  const refused = { account: 0, address: 0 };
  while (mayfly.now() + CALL_MS < end) {
    const [method, path, body, token = own] = calls.next().value;
    const { status, text } = await mayfly.send(method, path, body, token);
    expect(status).toBeLessThan(500);
    if (status === 429) refused[text.includes('"policy"') ? "account" : "address"] += 1;
    mayfly.advance(CALL_MS);
  }
  expect(Math.min(refused.account, refused.address)).toBeGreaterThan(0);
}

/** One that has each minute a machine made, renewed and looked at, and every other one destroyed. */
async function quietOwner(mayfly: Mayfly) {
  const token = await mayfly.tokenOf("quiet");
  const ends = new Map<string, number>();
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await mayfly.send(method, `/v1/machines/${path}`, body, token);
    expect(answer, answer.text).toSatisfy(({ status }: Answer) => status >= 200 && status < 300);
    return machineIn(answer);
  };
  return {
    async live(minute: number): Promise<void> {
      mayfly.callFrom("203.0.113.1");
      const name = `quiet-${minute}`;
      await ask("PUT", name, { ...BODY, ttl: "60s" });
      expect((await ask("GET", `${name}?wait=9`)).status).toBe("running");
      const { provider_id, expires_at } = await ask("POST", `${name}/renew`, { ttl: "2m" });
      ends.set(z.string().parse(provider_id), Date.parse(expires_at));
      if (minute % 2 === 0) await ask("DELETE", name);
    },
    /** Its machines that are there though the sweep of the minute of their end is over. */
    late: () => {
      const late = servers(mayfly).filter(({ id }) => (ends.get(String(id)) ?? Infinity) <= mayfly.now());
      return late.map(({ id }) => id);
    },
  };
}
