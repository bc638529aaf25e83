import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  ALLOWED,
  countedDb,
  countedFetch,
  fromOutside,
  hearLine,
  hearReport,
  noteMeter,
  takeMiscounts,
} from "./outside.ts";

const FREE = { what: "it", plan: "free" } as const;
const meter = (fetches: number, statements: number) => ({ fetches, statements, entries: 0 });
const fetchOnce = () => countedFetch(async () => new Response())("https://any", {});
const counted = countedDb(env.DB);
const askOnce = () => counted.prepare("SELECT 1").bind().all();
const askTwice = () => counted.batch(["SELECT 1", "SELECT 2"].map((text) => counted.prepare(text).bind()));

describe("what an invocation sends out", () => {
  it("is counted where it leaves: each call, and each statement of a batch", async () => {
    const sent = await fromOutside(FREE, async (counts) => {
      noteMeter(meter(1, 3));
      await fetchOnce();
      await askOnce();
      await askTwice();
      return { ...counts };
    });
    expect(sent).toMatchObject({ fetches: 1, statements: 3 });
    expect(takeMiscounts()).toEqual([]);
  });

  it.each([
    ["a call that is not metered", meter(0, 1)],
    ["a statement that is not metered", meter(1, 0)],
    ["a call that is metered twice", meter(2, 1)],
    ["a statement that is metered twice", meter(1, 2)],
  ])("is told where the meter says otherwise: %s", async (_what, said) => {
    await fromOutside(FREE, async () => {
      noteMeter(said);
      await fetchOnce();
      await askOnce();
    });
    expect(takeMiscounts()).toEqual([`it: the meter says ${said.fetches} and ${said.statements}, and it was 1 and 1`]);
  });

  it("is told where there is no meter, or more than one", async () => {
    await fromOutside(FREE, askOnce);
    expect(takeMiscounts()).toEqual(["it: the meter says 0 and 0, and it was 0 and 1"]);
    await fromOutside(FREE, async () => {
      noteMeter(meter(0, 0));
      noteMeter(meter(0, 0));
    });
    expect(takeMiscounts()).toEqual(["it: 2 meters"]);
  });

  it.each(["fetches", "statements"] as const)("is told where there are more %s than the plan allows", async (what) => {
    const most = ALLOWED.free[what];
    const send = what === "fetches" ? fetchOnce : askOnce;
    for (const more of [0, 1]) {
      const sent = { ...meter(0, 0), [what]: most + more };
      await fromOutside(FREE, async () => {
        noteMeter(sent);
        for (let times = 0; times < most + more; times++) await send();
      });
      const told = more === 0 ? [] : [`it: ${sent.fetches} and ${sent.statements} are more than free allows`];
      expect(takeMiscounts()).toEqual(told);
    }
  });

  it("may be less than the meter of a dry run says, and not more", async () => {
    const dry = { ...FREE, isDry: true };
    await fromOutside(dry, async () => {
      noteMeter(meter(5, 5));
      await fetchOnce();
    });
    expect(takeMiscounts()).toEqual([]);
    await fromOutside(dry, async () => {
      noteMeter(meter(0, 5));
      await fetchOnce();
    });
    expect(takeMiscounts()).toEqual(["it: the meter says 0 and 5, and it was 1 and 0"]);
  });

  it("is held against the log as far as it has gone out by then", async () => {
    await fromOutside(FREE, async () => {
      noteMeter(meter(0, 2));
      await askOnce();
      hearLine({ event: "request", fetches: 0, statements: 1 });
      await askOnce();
      hearLine({ event: "request", fetches: 0, statements: 1 });
    });
    expect(takeMiscounts()).toEqual(["it: the log says 0 and 1, and it was 0 and 2"]);
  });

  it("is held against a report, behind which its own two statements may come", async () => {
    const report = meter(0, 1);
    for (const closing of [0, 2, 3]) {
      await fromOutside(FREE, async () => {
        noteMeter(meter(0, 1 + closing));
        for (let times = 0; times < 1 + closing; times++) await askOnce();
        hearReport(report);
      });
      expect(takeMiscounts()).toHaveLength(closing > 2 ? 1 : 0);
    }
  });

  it("behind its end is told: nobody had handed it to waitUntil", async () => {
    let goOn: (() => Promise<unknown>) | undefined;
    await fromOutside(FREE, async () => {
      const waiting = Promise.withResolvers<void>();
      const later = waiting.promise.then(askOnce);
      goOn = () => {
        waiting.resolve();
        return later;
      };
    });
    await goOn?.();
    expect(takeMiscounts()).toEqual(["it: statements behind its end, which nobody had handed to waitUntil"]);
  });

  it("goes out in no way that would not be counted", () => {
    expect(() => counted.exec("SELECT 1")).toThrow("nobody would see");
    expect(() => counted.withSession()).toThrow("nobody would see");
    expect(() => counted.prepare("SELECT 1").first()).toThrow("nobody would see");
    for (const way of ["all", "run", "raw"] as const)
      expect(() => counted.prepare("SELECT 1")[way]()).toThrow("nobody would see");
    const bound = counted.prepare("SELECT 1").bind();
    for (const ask of [() => bound.first(), () => bound.run(), () => bound.raw()])
      expect(ask).toThrow("nobody would see");
  });
});
