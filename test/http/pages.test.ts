import { describe, expect, it } from "vitest";
import * as z from "zod";
import { fromStandard, openHooks } from "../hooks/senders.ts";
import { BODY, createMayfly, HOUR, type Mayfly } from "../mayfly.ts";
import { ECDSA_KEY, KEY_A, KEY_B, RSA_KEY } from "../simulator/sample-keys.ts";

const listed = z.looseObject({ meta: z.object({ pagination: z.record(z.string(), z.int().nullable()) }) });
const NAMES = ["a", "b", "c", "d", "e"];

async function machines(mayfly: Mayfly): Promise<void> {
  for (const name of NAMES) {
    await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, labels: { team: "red" } });
    await mayfly.send("PUT", `/v1/machines/not-${name}`, BODY);
    mayfly.advance(1000);
  }
}
/** Ten that have ended. */
async function ended(mayfly: Mayfly): Promise<void> {
  await machines(mayfly);
  for (const name of NAMES) {
    await mayfly.send("DELETE", `/v1/machines/${name}`);
    mayfly.advance(1000);
  }
  for (const name of NAMES) await mayfly.send("DELETE", `/v1/machines/not-${name}`);
}
const each = async (mayfly: Mayfly, path: string, bodies: readonly object[]) => {
  for (const body of bodies) {
    await mayfly.send("POST", path, body);
    mayfly.advance(1000);
  }
};

/** Lists of five, or of more where it says so; `isCounted`: how many there are is told. */
const LISTS: readonly {
  path: string;
  of: string;
  isCounted: boolean;
  count?: number;
  given: (mayfly: Mayfly) => Promise<void>;
}[] = [
  { path: "/v1/machines?label_selector=team%3Dred&", of: "machines", isCounted: true, given: machines },
  { path: "/v1/machines?status=creating&status=running&", of: "machines", isCounted: true, count: 10, given: machines },
  { path: "/v1/machines?status=destroyed&", of: "machines", isCounted: false, count: 10, given: ended },
  { path: "/v1/machines?status=destroyed&label_selector=team&", of: "machines", isCounted: false, given: ended },
  {
    path: "/v1/machines?status=destroyed&status=creating&status=running&",
    of: "machines",
    isCounted: false,
    count: 10,
    given: async (mayfly) => {
      await machines(mayfly);
      for (const name of NAMES) await mayfly.send("DELETE", `/v1/machines/${name}`);
    },
  },
  {
    path: "/v1/firewalls?",
    of: "firewalls",
    isCounted: true,
    given: (mayfly) =>
      each(
        mayfly,
        "/v1/firewalls",
        NAMES.map((name) => ({ name, deny_all: true })),
      ),
  },
  {
    path: "/v1/networks?",
    of: "networks",
    isCounted: true,
    given: (mayfly) =>
      each(
        mayfly,
        "/v1/networks",
        NAMES.map((name) => ({ name, ip_range: "10.0.0.0/16", region: "fsn1" })),
      ),
  },
  {
    path: "/v1/ssh_keys?",
    of: "ssh_keys",
    isCounted: true,
    given: (mayfly) =>
      each(
        mayfly,
        "/v1/ssh_keys",
        [KEY_A, KEY_B, ECDSA_KEY, RSA_KEY, KEY_A].map((key, index) => ({ name: NAMES[index], public_key: key })),
      ),
  },
  {
    path: "/v1/tokens?",
    of: "tokens",
    isCounted: false,
    given: (mayfly) =>
      each(
        mayfly,
        "/v1/tokens",
        NAMES.map((owner) => ({ owner })),
      ),
  },
  { path: "/v1/events?kind=requested&", of: "events", isCounted: false, count: 10, given: machines },
  {
    path: "/v1/sweeps?",
    of: "sweeps",
    isCounted: false,
    given: async (mayfly) => {
      for (let hour = 0; hour < 5; hour++) {
        mayfly.advance(HOUR);
        await mayfly.tick();
      }
    },
  },
  {
    path: "/v1/hooks?hook=boxes&",
    of: "deliveries",
    isCounted: false,
    given: async (mayfly) => {
      for (const name of NAMES) {
        await fromStandard(mayfly, {
          type: "machine.create",
          timestamp: new Date(mayfly.now()).toISOString(),
          data: { name },
        });
        mayfly.advance(1000);
      }
    },
  },
];

const openOf = (of: string): Mayfly => (of === "deliveries" ? openHooks() : createMayfly());

async function page(mayfly: Mayfly, path: string, of: string, query: string) {
  const { status, body } = await mayfly.send("GET", path + query);
  expect(status).toBe(200);
  const { meta, ...rest } = listed.parse(body);
  return { items: z.array(z.unknown()).parse(rest[of]), meta: meta.pagination };
}

describe.each(LISTS)("the list $path of $of", ({ path, of, isCounted, count = 5, given }) => {
  it("shows each once over pages of two, in the order of the whole, and nothing behind its end", async () => {
    const mayfly = openOf(of);
    await given(mayfly);
    const whole = await page(mayfly, path, of, "per_page=50");
    expect(whole.items).toHaveLength(count);
    const last = Math.ceil(count / 2);
    const seen: unknown[] = [];
    for (let number = 1; number <= last; number++) {
      const shown = await page(mayfly, path, of, `per_page=2&page=${number}`);
      seen.push(...shown.items);
      expect(shown.meta).toEqual({
        page: number,
        per_page: 2,
        previous_page: number === 1 ? null : number - 1,
        next_page: number === last ? null : number + 1,
        last_page: isCounted ? last : null,
        total_entries: isCounted ? count : null,
      });
    }
    expect(seen).toEqual(whole.items);
    const { items, meta } = await page(mayfly, path, of, "per_page=2&page=99");
    expect([items, meta["next_page"], meta["previous_page"]]).toEqual([
      [],
      null,
      isCounted ? Math.ceil(count / 2) : 98,
    ]);
  });
});
