import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
import { MINUTE, minutes, NOW, SECOND, servers } from "../mayfly.ts";
import { answerOf, listed, names } from "./deliveries.ts";
import { CONFIGURATION, githubHeaders, openHooks, pullRequest } from "./senders.ts";

const MANY = 200;

describe("two hundred events at once, while the provider hangs for five minutes", () => {
  it("are each answered while it hangs, nothing is lost, and all their machines appear, each once", async () => {
    const policies = [{ name: "preview", machines: 2 * MANY }];
    const mayfly = openHooks({ PLAN: "paid" }, { ...CONFIGURATION, policies });
    const hanging: (() => void)[] = [];
    let isSick = true;
    between(mayfly, async (request, real) => {
      if (!isSick) return real(request);
      await new Promise<void>((resolve) => void hanging.push(resolve));
      throw new TypeError("nobody answered in time");
    });
    const sent = await Promise.all(
      Array.from({ length: MANY }, async (_, index) => {
        const body = JSON.stringify(pullRequest("opened", NOW - SECOND, { number: index + 1 }));
        const headers = await githubHeaders(body);
        return answerOf(mayfly, "/v1/hooks/preview", body, headers);
      }),
    );
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]));
    const rest = Promise.all(sent.map((one) => one.rest()));
    const state = { isOver: false };
    void rest.finally(() => (state.isOver = true));
    // Nobody's clock but the test's: what hangs gives up when that says so.
    mayfly.advance(5 * MINUTE);
    while (!state.isOver) {
      for (const giveUp of hanging.splice(0)) giveUp();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(servers(mayfly)).toEqual([]);
    isSick = false;
    for (let minute = 0; minute < 60 && (await listed(mayfly, "?state=pending")).length > 0; minute++)
      await minutes(mayfly, 1);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
    expect(names(mayfly)).toHaveLength(MANY);
    expect(new Set(names(mayfly))).toEqual(new Set(Array.from({ length: MANY }, (_, index) => `pr-${index + 1}`)));
  });

  it("no answer waits for the provider: it goes out though no call ever comes back", async () => {
    const mayfly = openHooks();
    const asked: string[] = [];
    let answered = 0;
    between(mayfly, async (request) => {
      asked.push(`${request.method} after ${answered} answers`);
      throw new TypeError("nobody answers");
    });
    const body = JSON.stringify(pullRequest("opened", NOW - SECOND));
    const { status, rest } = await answerOf(mayfly, "/v1/hooks/preview", body, await githubHeaders(body));
    answered += 1;
    expect([status, asked]).toEqual([202, []]);
    await rest();
    expect(asked[0]).toMatch(/after 1 answers$/);
  });
});
