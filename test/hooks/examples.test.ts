// Every payload that GitHub's users have collected, signed, to a hook that takes them all in.
import examples from "@octokit/webhooks-examples" with { type: "json" };
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Configuration } from "../../src/deployment.ts";
import { HOUR, minutes, MINUTE, NOW, SECOND, servers, type Mayfly } from "../mayfly.ts";
import { labels, listed } from "./deliveries.ts";
import { CONFIGURATION, fromGithub, openHooks, pullRequest, REPOSITORY } from "./senders.ts";

const events = z.array(z.object({ name: z.string(), examples: z.array(z.looseObject({})) })).parse(examples);
const ids = [...new Set(events.flatMap((event) => event.examples.flatMap((one) => repositoryIn(one) ?? [])))];

function repositoryIn(payload: object): number | null {
  return z.object({ repository: z.object({ id: z.int() }) }).safeParse(payload).data?.repository.id ?? null;
}

const PREVIEW = CONFIGURATION.hooks.preview;
const [CREATE, DESTROY] = PREVIEW.rules;
/** Takes events from every repository of the examples, and goes by as much of them as it can. */
const WIDE: Configuration = {
  ...CONFIGURATION,
  policies: [{ name: "preview" }],
  hooks: {
    preview: {
      ...PREVIEW,
      repositories: ids,
      rules: [
        {
          on: "pull_request",
          when: { action: ["opened", "reopened", "synchronize"] },
          do: "create",
          name: CREATE.name,
        },
        DESTROY,
        { on: "push", do: "create", name: "branch-{ref}" },
        { on: "delete", do: "destroy", name: "branch-{ref}" },
        { on: "issues", when: { action: "opened" }, do: "renew", name: "{issue.title}" },
        { on: "workflow_job", do: "create", name: "{workflow_job.name}", rank: "workflow_job.started_at" },
      ],
    },
  },
};

describe("the payloads of @octokit/webhooks-examples", () => {
  it("are many, of many kinds", () => {
    expect(events.length).toBeGreaterThan(40);
    expect(events.flatMap((event) => event.examples).length).toBeGreaterThan(200);
  });

  it.each(events)("$name: each is taken or refused, and none is a failure of ours", async (event) => {
    const mayfly = openHooks({}, WIDE);
    const statuses = new Set<number>();
    for (const payload of event.examples)
      statuses.add((await fromGithub(mayfly, payload, { event: event.name })).status);
    expect([...statuses]).toEqual([202]);
    await minutes(mayfly, 2);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
  });

  it("those of pull requests, with their times as they are, make nothing any more: they are years old", async () => {
    const mayfly = openHooks({}, WIDE);
    const event = events.find(({ name }) => name === "pull_request");
    for (const payload of event?.examples ?? []) await fromGithub(mayfly, payload);
    expect(servers(mayfly)).toEqual([]);
    expect(await listed(mayfly, "?state=ignored")).not.toEqual([]);
  });
});

const OTHER = 186853002;
/** What happened to one pull request, in order, a second apart. */
const LIVES = [
  ["opened", "closed"],
  ["opened", "synchronize", "closed"],
  ["opened", "synchronize", "closed", "reopened"],
  ["opened", "closed", "reopened", "closed"],
  ["opened", "closed", "reopened", "synchronize"],
] as const;

/** One example of each kind, made to be about that pull request, at that time. */
const payloads = events.find(({ name }) => name === "pull_request")?.examples ?? [];
const example = z.looseObject({ action: z.string(), pull_request: z.looseObject({}), repository: z.looseObject({}) });
function payloadOf(action: string, at: number, repository: number): object {
  const found = payloads.map((one) => example.parse(one)).find((one) => one.action === action);
  const plain = pullRequest(action, at, { repository });
  return {
    ...found,
    ...plain,
    pull_request: { ...found?.pull_request, ...plain.pull_request },
    repository: { ...found?.repository, ...plain.repository },
  };
}

interface Fact {
  readonly action: string;
  readonly at: number;
  readonly repository: number;
}

const lifeOf = (repository: number): fc.Arbitrary<readonly Fact[]> =>
  fc
    .constantFrom(...LIVES)
    .map((life) =>
      life.map((action, index) => ({ action, repository, at: NOW - MINUTE + (index - life.length) * SECOND })),
    );

/** In order, in reverse, twice, with losses, late: some of them, some more than once, in any order. */
const history = fc.tuple(lifeOf(REPOSITORY), lifeOf(OTHER)).chain(([one, other]) => {
  const facts = [...one, ...other];
  const orders = fc.array(fc.constantFrom(...facts), { maxLength: 2 * facts.length });
  return fc
    .oneof(fc.constant(facts), fc.constant(facts.toReversed()), fc.constant([...facts, ...facts]), orders)
    .map((sent) => ({ facts, sent }));
});

/** Whether there is to be a machine: of the facts that have come, in whatever order, the latest decides. */
function isExpected(sent: readonly Fact[], repository: number): boolean {
  const known = sent.filter((fact) => fact.repository === repository);
  const latest = known.toSorted((one, other) => one.at - other.at).at(-1);
  return latest !== undefined && latest.action !== "closed";
}

const machinesOf = (mayfly: Mayfly, repository: number) =>
  labels(mayfly).filter((one) => one["mayfly-owner"] === `hook.preview.${repository}`);

describe("the facts about a pull request, in any order", () => {
  it("leave one machine of a name or none, none after the end, one again after a reopening, and none after its lease", async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ sent }) => {
        const mayfly = await fresh();
        for (const [index, { action, at, repository }] of sent.entries()) {
          const { status } = await fromGithub(mayfly, payloadOf(action, at, repository));
          expect(status).toBe(202);
          for (const one of [REPOSITORY, OTHER]) {
            const isThere = isExpected(sent.slice(0, index + 1), one);
            expect([one, machinesOf(mayfly, one).length]).toEqual([one, isThere ? 1 : 0]);
          }
        }
        mayfly.advance(9 * HOUR);
        await minutes(mayfly, 2);
        expect(servers(mayfly)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});

/** A mayfly that knows of nothing: the database is one for all runs. */
async function fresh(): Promise<Mayfly> {
  const mayfly = openHooks();
  const { DB } = mayfly.bindings;
  await DB.batch(["machines", "events", "deliveries", "hook_ranks"].map((table) => DB.prepare(`DELETE FROM ${table}`)));
  return mayfly;
}
