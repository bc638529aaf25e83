import fc from "fast-check";
import { expect, it } from "vitest";
import { parseHistory, type Step } from "./history.ts";
import { SMALL } from "./kinds/small.ts";
import { runHistories } from "./run.ts";
import { withSqlite } from "./world/sim-db.ts";

const create = (owner: "tok.ann" | "gh.74.9001", name: string): Step => ({
  do: "create",
  owner,
  name,
  ttl: "60s",
  spec: 0,
  mishap: null,
});

/** The judge believes in a limit of three machines; mayfly is set to more. */
const BROKEN = { ...SMALL, bindings: { ...SMALL.bindings, MAX_MACHINES: "9" } };
const FOUR = [create("tok.ann", "a"), create("tok.ann", "b"), create("gh.74.9001", "a"), create("gh.74.9001", "b")];
const IDLE: readonly Step[] = [
  { do: "list", mishap: null },
  { do: "catalogue" },
  { do: "vanish", which: 3, minutes: 1 },
  { do: "fault", on: "unmake", effect: "locked", skip: 0, times: 1 },
];
const WHOLE = { minutesLeft: 720, steps: [...FOUR, ...IDLE].toSorted((a, b) => a.do.localeCompare(b.do)) };

it("prints a failing history without a step that it does not need, and as it can be played again", async () => {
  await withSqlite(async (database, transaction) => {
    const order = { seed: 1, runs: 1 };
    const { failure } = await runHistories(database, { ...BROKEN, history: fc.constant(WHOLE) }, order, transaction);
    expect(failure).toMatch(/I6: a create of [^]* 4 steps left out/);
    const [, history = ""] = /--history '(.*)'/.exec(failure ?? "") ?? [];
    expect(parseHistory(history)).toEqual({ minutesLeft: 720, steps: FOUR });
    const again = await runHistories(database, BROKEN, { ...order, history }, transaction);
    expect(again.failure).toMatch(/I6: a create of/);
    expect(again.tally.histories).toBe(1);
    const kept = await runHistories(database, SMALL, { ...order, history }, transaction);
    expect(kept.failure).toBeNull();
  });
});

it("refuses what is no history", () => {
  expect(() => parseHistory(`{"steps": [{"what": 1}]}`)).toThrow("no history");
});
