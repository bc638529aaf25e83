import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, minutes, refusing, servers, type Mayfly } from "../mayfly.ts";

/** A database that has no page left: rows can be read and deleted; the one row of the lock stays where it is. */
const fill = (mayfly: Mayfly, words = "database or disk is full: SQLITE_FULL") =>
  mayfly.configure({ DB: refusing(env.DB, /^(INSERT|UPDATE (OR IGNORE )?(?!locks))/, words) });

const names = (mayfly: Mayfly) => servers(mayfly).map(({ labels }) => labels?.["mayfly-name"]);

describe("while a database is full, or takes nothing down for another reason, a sweep", () => {
  it.each([undefined, "nothing is written today"])(
    "ends what is an hour past the end that its label tells, and nothing whose lease goes on (%s)",
    async (words) => {
      const mayfly = createMayfly();
      await mayfly.send("PUT", "/v1/machines/short", { ...BODY, ttl: "10m" });
      await mayfly.send("PUT", "/v1/machines/long", { ...BODY, ttl: "5h" });
      await minutes(mayfly, 2);
      fill(mayfly, words);
      await minutes(mayfly, 65);
      expect(names(mayfly)).toEqual(["short", "long"]);
      await minutes(mayfly, 10);
      expect(names(mayfly)).toEqual(["long"]);
    },
  );

  it.each(["free", "paid"])("ends that too behind fifty rows whose machines are gone already (%s)", async (plan) => {
    const mayfly = createMayfly({ PLAN: plan });
    for (let number = 0; number < 50; number++)
      await mayfly.send("PUT", `/v1/machines/gone-${number}`, { ...BODY, ttl: "10m" });
    await mayfly.send("PUT", "/v1/machines/short", { ...BODY, ttl: "20m" });
    await minutes(mayfly, 3);
    fill(mayfly);
    for (let number = 0; number < 50; number++) await mayfly.send("DELETE", `/v1/machines/gone-${number}`);
    expect(names(mayfly)).toEqual(["short"]);
    await minutes(mayfly, 85);
    expect(names(mayfly)).toEqual([]);
  });

  it("forgets what is old though what has ended since cannot be added to the ledger", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "35d" });
    await mayfly.send("PUT", "/v1/machines/old", BODY);
    await mayfly.send("DELETE", "/v1/machines/old");
    await minutes(mayfly, 20);
    mayfly.advance(34 * 24 * HOUR);
    await minutes(mayfly, 1);
    await mayfly.send("PUT", "/v1/machines/new", BODY);
    await mayfly.send("DELETE", "/v1/machines/new");
    fill(mayfly);
    mayfly.advance(2 * 24 * HOUR);
    await minutes(mayfly, 1);
    const { results } = await env.DB.prepare("SELECT name FROM machines").all();
    expect(results).toEqual([{ name: "new" }]);
  });
});
