import { expect, it } from "vitest";
import type { Step, Ttl } from "./history.ts";
import { openBooks } from "./judge/books.ts";
import { SMALL } from "./kinds/small.ts";
import { play } from "./play.ts";
import { withFakeTimers } from "./run.ts";
import { withSqlite } from "./world/sim-db.ts";

const ann = { owner: "tok.ann", name: "a" } as const;
const quiet = { mishap: null } as const;
const lend = (spec: 0 | 1 | 2, ttl: Ttl = "20m"): Step => ({ do: "create", ...ann, ttl, spec, ...quiet });
const minutes = (count: number): Step => ({ do: "minutes", count, order: 0 });

/** Lives that chance comes to only now and then, each in which nothing, or one thing, goes wrong. */
const HISTORIES: Readonly<Record<string, readonly Step[]>> = {
  "a machine that is repeated, renewed and left to its end": [
    lend(0),
    lend(0),
    minutes(5),
    { do: "renew", ...ann, ttl: "1h", ...quiet },
    { do: "list", ...quiet },
    minutes(70),
  ],
  "a machine that is kept after its job has failed": [
    lend(1),
    { do: "destroy", ...ann, failed: true, ...quiet },
    minutes(25),
  ],
  "a machine whose rows are lost, and which is found again": [
    lend(2, "3h"),
    minutes(2),
    { do: "lose_d1" },
    minutes(45),
  ],
  "a cron that is silent for ten minutes": [lend(0, "1h"), minutes(5), { do: "pass", minutes: 10 }, minutes(30)],
  "a machine that is destroyed, and its name begun anew": [
    lend(0),
    { do: "destroy", ...ann, failed: false, ...quiet },
    minutes(2),
    lend(0),
    minutes(25),
  ],
  "a machine that a person protects past its end": [
    lend(0),
    { do: "protect", which: 0 },
    minutes(90),
    { do: "unprotect", which: 0 },
    minutes(20),
  ],
  "a machine that a person protects to the latest end that it could have, and whose row is lost": [
    lend(0),
    { do: "protect", which: 0 },
    { do: "pass", minutes: 90 },
    { do: "pass", minutes: 30 },
    { do: "lose_d1" },
  ],
  "a machine that is renewed near its latest end, and goes as far as that": [
    lend(0),
    minutes(10),
    { do: "renew", ...ann, ttl: "1h", ...quiet },
    minutes(55),
    { do: "renew", ...ann, ttl: "3h", ...quiet },
    { do: "renew", ...ann, ttl: "3h", ...quiet },
    minutes(70),
  ],
};

it.each(Object.entries(HISTORIES))("keeps the promises over %s", async (_what, steps) => {
  const books = openBooks();
  await withSqlite((database, transaction) =>
    withFakeTimers(() => play(database, SMALL, { minutesLeft: 720, steps }, books, transaction)),
  );
  expect(books.broken).toEqual([]);
  expect(books.born.size).toBeGreaterThan(0);
});
