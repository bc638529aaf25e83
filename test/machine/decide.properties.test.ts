import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { creationTime, labelTime } from "../../src/machine/age.ts";
import { decide } from "../../src/machine/decide.ts";
import type { Reason } from "../../src/machine/reason.ts";
import { present } from "../../src/machine/sighting.ts";
import { endOf } from "../../src/machine/lease.ts";
import { isOurs } from "../../src/machine/ownership.ts";
import { LABEL } from "../../src/machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../../src/machine/machine.ts";
import { counterexample, CREATED, DAY, HOUR, machineOf, MINUTE, OUR_LABELS, rowOf, RULES } from "./fixtures.ts";
import { labelTexts, machines, rowsOrNone, times } from "./situations.ts";

const LONGEST_PROMISE = 30 * DAY;

type Situation = [row: MachineRow | null, machine: Machine, now: number];
const situations = fc.tuple(rowsOrNone, machines, times);
const exception = (holds: (...situation: Situation) => boolean) =>
  counterexample(situations, (situation) => holds(...situation), 5000);
const destroys = (...[row, machine, now]: Situation): Reason | null => {
  const { act, reason } = decide(row, present(machine), now, RULES);
  return act === "destroy" ? reason : null;
};

describe("decide, whatever row, machine and time", () => {
  it("is asked here about every reason there is, so that what follows says something", () => {
    const reasons = fc
      .sample(situations, { numRuns: 40_000, seed: 1 })
      .map(([row, machine, now]) => decide(row, present(machine), now, RULES).reason);
    expect(new Set(reasons)).toEqual(
      new Set<Reason>([
        "foreign",
        "provider_protected",
        "dying",
        "identity_mismatch",
        "unreadable",
        "late_landing",
        "reappeared",
        "requested",
        "expired",
        "launch_failed",
        "attach_failed",
        "live",
        "max_age",
        "young",
        "no_row",
        "unknown_age",
      ]),
    );
  });

  it("never destroys what is not ours", () => {
    expect(
      exception((row, machine, now) => destroys(row, machine, now) === null || isOurs(machine, RULES.installations)),
    ).toBeNull();
  });

  it("never destroys at a row's own provider id what is not the machine that was recorded", () => {
    expect(
      exception((row, machine, now) => {
        if (
          destroys(row, machine, now) === null ||
          row === null ||
          !isLive(row) ||
          row.providerId !== machine.providerId
        )
          return true;
        return machine.labels[LABEL.uid] === row.uid && machine.labels[LABEL.installation] === row.installation;
      }),
    ).toBeNull();
  });

  it("never destroys before the promised end, unless its owner, its launch or a tombstone says so", () => {
    expect(
      exception((row, machine, now) => {
        const reason = destroys(row, machine, now);
        const expires = labelTime(machine.labels, LABEL.expires);
        // A sweep decided it before, and what it went by then may look otherwise now.
        if (row?.phase === "destroying" && row.reason !== null && row.reason === reason) return true;
        switch (reason) {
          case null:
            return true;
          case "expired":
            // What a sweep claimed before was past its end then, and cannot have been renewed since.
            return (
              row !== null &&
              (row.phase === "destroying" ||
                now >= row.maxUntil ||
                (now >= row.expiresAt && (expires === null || now >= expires)))
            );
          case "max_age": {
            const created = creationTime(machine, now);
            if (created === null || now - created <= RULES.maxAgeMs) return false;
            const max = labelTime(machine.labels, LABEL.max);
            const isPromised = expires !== null && max !== null && max - created <= LONGEST_PROMISE;
            return !isPromised || now >= Math.min(expires, max);
          }
          case "late_landing":
            return row !== null && (row.phase === "destroyed" || row.phase === "failed");
          case "requested":
            return row !== null && row.destroyRequestedAt !== null;
          case "launch_failed":
            return row?.status === "creating" && machine.status !== "running" && now - row.requestedAt > 15 * MINUTE;
          case "attach_failed":
            return (
              row !== null &&
              row.attachments !== null &&
              machine.status === "running" &&
              now - (row.createdAt ?? row.requestedAt) > 2 * MINUTE
            );
          default:
            return false;
        }
      }),
    ).toBeNull();
  });

  it("P48, S162: never destroys what has no row and whose age nobody knows", () => {
    expect(
      exception(
        (row, machine, now) =>
          row !== null || creationTime(machine, now) !== null || destroys(row, machine, now) === null,
      ),
    ).toBeNull();
  });

  it("never destroys what the provider protects", () => {
    expect(
      exception((row, machine, now) => !machine.deleteProtected || destroys(row, machine, now) === null),
    ).toBeNull();
  });

  it("never takes a death back as time goes by, save that of a failed beginning, which is an old story later on", () => {
    const twice = fc.tuple(situations, fc.nat(90 * DAY));
    const holds = ([[row, machine, now], later]: [Situation, number]) =>
      [null, "launch_failed", "attach_failed"].includes(destroys(row, machine, now)) ||
      destroys(row, machine, now + later) !== null;
    expect(counterexample(twice, holds, 5000)).toBeNull();
  });

  it("keeps what is dying or protected even when it had expired", () => {
    expect(
      exception((row, machine, now) => {
        if (destroys(row, machine, now) === null) return true;
        const dying = decide(row, present({ ...machine, status: "deleting" }), now, RULES);
        const locked = decide(row, present({ ...machine, deleteProtected: true }), now, RULES);
        return dying.reason === "dying" && locked.reason === "provider_protected" && locked.alert;
      }),
    ).toBeNull();
  });

  it("an end is never later than max_until, and never earlier than the row's own", () => {
    expect(
      exception((row, machine) => {
        if (row === null) return true;
        const end = endOf(row, machine);
        return end <= row.maxUntil && end >= Math.min(row.expiresAt, row.maxUntil) && endOf(row, null) <= end;
      }),
    ).toBeNull();
  });
});

describe("case 24: no label makes a machine immortal or infinitely old", () => {
  const machine = fc
    .record({ [LABEL.expires]: labelTexts, [LABEL.max]: labelTexts, [LABEL.created]: labelTexts }, { requiredKeys: [] })
    .map((texts) => machineOf({ labels: { ...OUR_LABELS, ...texts } }));

  it("without a row it lives for MAX_AGE and dies after the longest promise there is", () => {
    fc.assert(
      fc.property(machine, (one) => {
        expect(destroys(null, one, CREATED + RULES.maxAgeMs)).toBeNull();
        expect(destroys(null, one, CREATED + LONGEST_PROMISE + 1)).toBe("max_age");
      }),
      { numRuns: 2000 },
    );
  });

  it("with a row it lives until the row's end and dies by its max_until", () => {
    const row = rowOf({ expiresAt: CREATED + HOUR, maxUntil: CREATED + 7 * DAY });
    fc.assert(
      fc.property(machine, (one) => {
        expect(destroys(row, one, row.expiresAt - 1)).toBeNull();
        expect(destroys(row, one, row.maxUntil)).toBe("expired");
      }),
      { numRuns: 2000 },
    );
  });
});
