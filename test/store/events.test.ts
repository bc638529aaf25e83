import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { EventFilter } from "../../src/store/event-store.ts";
import type { Statement } from "../../src/store/db.ts";
import { openStore } from "../../src/store/store.ts";
import { NOW } from "../mayfly.ts";
import { asD1, onD1 } from "../simulation/world/database.ts";

const ALL: EventFilter = {
  owner: null,
  account: null,
  machine: null,
  reason: null,
  kinds: [],
  since: null,
  page: 1,
  perPage: 25,
};

/** How D1 goes about what the store asks of it, which then finds nothing. */
async function planOf(filter: EventFilter): Promise<string> {
  const plans: string[] = [];
  const explain = async ({ text, params }: Statement) => {
    plans.push(JSON.stringify(await onD1(env.DB).rows({ text: `EXPLAIN QUERY PLAN ${text}`, params })));
    return [];
  };
  const batch = (statements: readonly Statement[]) => Promise.all(statements.map(explain));
  await openStore(asD1({ rows: explain, batch }, env.DB), () => {}).events.list(filter);
  return plans.join();
}

it.each([
  ["all", ALL, "events_by_time"],
  ["all since a time", { ...ALL, since: NOW }, "events_by_time"],
  ["one owner's", { ...ALL, owner: "tok.a" }, "events_by_owner"],
  ["one owner's since a time", { ...ALL, owner: "tok.a", since: NOW }, "events_by_owner"],
])("the newest events are read without sorting: %s", async (_whose, filter, index) => {
  const plan = await planOf(filter);
  expect(plan).toContain(index);
  expect(plan).not.toContain("TEMP B-TREE");
});

it.each([null, "tok.a"])("one machine's events are read by its own index, whoever asks (%j)", async (owner) => {
  expect(await planOf({ ...ALL, owner, since: NOW, machine: { by: "uid", uid: "u" } })).toContain("events_by_uid");
});
