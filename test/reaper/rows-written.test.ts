import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { BODY, createMayfly, HOUR, machineIn, MINUTE } from "../mayfly.ts";
import { counting } from "../rows.ts";

const HOURS = 23;

it("a machine that does not change costs four rows written a day at most, and is shown as seen six hours and a quarter ago at most", async () => {
  const mayfly = createMayfly({ PLAN: "paid" });
  await mayfly.send("PUT", "/v1/machines/box?wait=30", { ...BODY, ttl: "24h" });
  await mayfly.tick();
  // What a sweep writes whether or not there is a machine: its lock, its report, the catalogue.
  const { db, rows } = counting(env.DB, /\b(?:machines|events|resource_uses)\b/);
  mayfly.configure({ DB: db });
  let longest = 0;
  for (let quarter = 0; quarter < HOURS * 4; quarter++) {
    for (const minutes of [1, 14]) {
      mayfly.advance(minutes * MINUTE);
      await mayfly.tick();
    }
    const { observed_at: seenAt } = machineIn(await mayfly.send("GET", "/v1/machines/box"));
    longest = Math.max(longest, mayfly.now() - Date.parse(seenAt ?? ""));
  }
  expect(rows.written).toBeLessThanOrEqual(4);
  expect(longest).toBeLessThanOrEqual(6.25 * HOUR);
  expect(rows.read).toBeGreaterThan(0);
});
