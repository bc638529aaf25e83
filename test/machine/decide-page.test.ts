import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import text from "../../docs/decide.md?raw";
import { creationTime, labelTime } from "../../src/machine/age.ts";
import { decide } from "../../src/machine/decide.ts";
import { LABEL, uidIn } from "../../src/machine/labels.ts";
import { endOf, labelEnd } from "../../src/machine/lease.ts";
import { isLive, type Machine, type MachineRow } from "../../src/machine/machine.ts";
import { isOurs, isSame } from "../../src/machine/ownership.ts";
import { machineIn, type Sighting } from "../../src/machine/sighting.ts";
import { CREATED, HOUR, machineOf, MINUTE, rowOf, RULES } from "./fixtures.ts";
import { rowsOrNone, sightings, times } from "./situations.ts";

/** A situation that the table is asked about. */
interface Situation {
  readonly row: MachineRow | null;
  readonly sighting: Sighting;
  readonly now: number;
}
type Test = (situation: Situation) => boolean;

const ofMachine =
  (test: (machine: Machine, situation: Situation) => boolean): Test =>
  (situation) => {
    const machine = machineIn(situation.sighting);
    return machine !== null && test(machine, situation);
  };
const ofRow =
  (test: (row: MachineRow, situation: Situation) => boolean): Test =>
  (situation) =>
    situation.row !== null && test(situation.row, situation);
const ours = (machine: Machine) => isOurs(machine, RULES.installations);
const isBy =
  (...ways: string[]): Test =>
  ({ sighting }) =>
    sighting.seen === "absent" && ways.includes(sighting.by);

/** What each cell of the columns `seen` and `row` means. */
const SEEN: Readonly<Record<string, Test>> = {
  unknown: ({ sighting }) => sighting.seen === "unknown",
  absent: isBy("id", "list", "name"),
  "absent by id": isBy("id"),
  "absent by list and name": isBy("name"),
  "any machine": ofMachine(() => true),
  "not ours": ofMachine((machine) => !ours(machine)),
  ours: ofMachine(ours),
  "ours, without a uid": ofMachine((machine) => ours(machine) && uidIn(machine.labels) === ""),
  "ours, deleting": ofMachine((machine) => ours(machine) && machine.status === "deleting"),
  "ours, running": ofMachine((machine) => ours(machine) && machine.status === "running"),
  "ours, not running": ofMachine((machine) => ours(machine) && machine.status !== "running"),
  "labels unreadable": ofMachine(({ hasLabels }) => !hasLabels),
  "not the recorded one": ofMachine((machine, { row }) => row !== null && !isSame(row, machine)),
};
const lacks = (what: "firewallIds" | "networkIds"): Test =>
  ofMachine(
    ({ attached }, { row }) =>
      row !== null &&
      isLive(row) &&
      attached !== null &&
      (row.attachments?.[what] ?? []).some((id) => !attached[what].includes(id)),
  );
const isForAbsence = ({ phase, reason, destroyRequestedAt }: MachineRow): boolean =>
  ["destroyed", "failed"].includes(phase) &&
  ["lost", "never_seen", "gone"].includes(reason ?? "") &&
  destroyRequestedAt === null;
const promisedEndOf = ({ row, sighting, now }: Situation): number | null => {
  const machine = machineIn(sighting);
  const told = machine && labelTime(machine.labels, LABEL.expires);
  if (!machine || creationTime(machine, now) === null || told === null || row === null) return null;
  return Math.min(Math.max(told, row.expiresAt), row.maxUntil);
};
const ROW: Readonly<Record<string, Test>> = {
  any: () => true,
  none: ({ row }) => row === null,
  "none or ended": ({ row }) => row === null || !isLive(row),
  "none, disowned, or ended for absence": ({ row }) => row === null || row.phase === "disowned" || isForAbsence(row),
  "ended for absence": ofRow(isForAbsence),
  live: ofRow(isLive),
  ended: ofRow(({ phase }) => phase === "destroyed" || phase === "failed"),
  "live, without an id": ofRow((row) => isLive(row) && row.providerId === null),
  "live, at its id": ofRow((row, { sighting }) => isLive(row) && row.providerId === machineIn(sighting)?.providerId),
  "live, at another id": ofRow(
    (row, { sighting }) => isLive(row) && row.providerId !== null && row.providerId !== machineIn(sighting)?.providerId,
  ),
  "live, creating": ofRow((row) => isLive(row) && row.status === "creating"),
  "live, made with a firewall that it lacks": lacks("firewallIds"),
  "live, made with a network that it lacks": lacks("networkIds"),
};

const beganAt = (row: MachineRow) => row.triedAt ?? row.requestedAt;
const isBefore = (since: number | null, now: number) => since !== null && now >= since + MINUTE;
const pastMaxAge = ofMachine((machine, { now }) => {
  const created = creationTime(machine, now);
  const end = created === null ? null : labelEnd(machine, created, RULES);
  return created !== null && now - created > RULES.maxAgeMs && (end === null || now >= end);
});
/** What each condition in the column `when` means; a cell joins them by commas. */
const WHEN: Readonly<Record<string, Test>> = {
  "made under another credential": ({ sighting }) =>
    sighting.seen === "absent" && sighting.doubt === "other_credential",
  "the inventory is doubted": ({ sighting }) => sighting.seen === "absent" && sighting.doubt !== null,
  "being destroyed, or past its end": ofRow((row, { now }) => row.phase === "destroying" || now >= endOf(row, null)),
  "being destroyed": ofRow(({ phase }) => phase === "destroying"),
  "missed before": ofRow(({ missingSince }, { now }) => isBefore(missingSince, now)),
  "seen so before": ofRow(({ mismatchedSince }, { now }) => isBefore(mismatchedSince, now)),
  "past `LAUNCH_DEADLINE`": ofRow((row, { now }) => now > beganAt(row) + 15 * MINUTE),
  "its deletion was agreed to in the last minute": ofRow(
    ({ deleteAcceptedAt }, { now }) => deleteAcceptedAt !== null && now <= deleteAcceptedAt + MINUTE,
  ),
  "inventory pass": ({ sighting }) => sighting.seen === "present" && sighting.isInventory,
  "creation time unknown": ofMachine((machine, { now }) => creationTime(machine, now) === null),
  "older than `MAX_AGE`, and past its label's end if it has one": pastMaxAge,
  "its promised end lies ahead": (situation) => situation.now < (promisedEndOf(situation) ?? 0),
  "its promised end has passed": (situation) => situation.now >= (promisedEndOf(situation) ?? Infinity),
  "younger than `GRACE`": ofMachine((machine, { now }) => now - (creationTime(machine, now) ?? 0) < RULES.graceMs),
  "its owner asked for its end": ofRow(({ destroyRequestedAt }) => destroyRequestedAt !== null),
  "at its end": ofRow((row, { now, sighting }) => now >= endOf(row, machineIn(sighting))),
  "at its beginning": ofRow(
    (row, { now, sighting }) =>
      now <= beganAt(row) + 15 * MINUTE + HOUR && endOf(row, machineIn(sighting)) <= row.expiresAt,
  ),
  "two minutes after its creation": ofRow((row, { now }) => now > (row.createdAt ?? row.requestedAt) + 2 * MINUTE),
};

function testOf(cell: string, words: Readonly<Record<string, Test>>): Test {
  const test = words[cell];
  if (test === undefined) throw new Error(`docs/decide.md says "${cell}", which no test knows`);
  return test;
}

/** A condition may itself have a comma; the longest that is known counts. */
function conditionsOf(cell: string): Test[] {
  if (cell === "") return [];
  if (WHEN[cell] !== undefined) return [testOf(cell, WHEN)];
  const [first = "", ...rest] = cell.split(/, (?:and )?/);
  return [testOf(first, WHEN), ...conditionsOf(rest.join(", "))];
}

const lines = text
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(1)
  .map((line) => {
    const [seen = "", row = "", when = "", act = "", reason = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const tests = [testOf(seen, SEEN), testOf(row, ROW), ...conditionsOf(when)];
    return { line, act, reason, fits: (situation: Situation) => tests.every((test) => test(situation)) };
  });

/** What the page says of a situation: the first line that fits, and the two sentences below the table. */
function readPage(situation: Situation): { line: string; act: string; reason: string } {
  const found = lines.find(({ fits }) => fits(situation));
  if (found === undefined) throw new Error(`no line of docs/decide.md fits ${JSON.stringify(situation)}`);
  const decided = situation.row?.reason ?? "";
  const reason = found.reason.startsWith("`")
    ? found.reason.slice(1, -1)
    : ["launch_failed", "attach_failed"].includes(decided)
      ? decided
      : "expired";
  if (found.act === "destroy" && machineIn(situation.sighting)?.deleteProtected)
    return { line: found.line, act: "keep, alert", reason: "provider_protected" };
  return { line: found.line, act: found.act, reason };
}

function answer({ row, sighting, now }: Situation): { act: string; reason: string } {
  const { act, reason, alert } = decide(row, sighting, now, RULES);
  return { act: alert ? `${act}, alert` : act, reason };
}

const situations: fc.Arbitrary<Situation> = fc.record({ row: rowsOrNone, sighting: sightings, now: times });

describe("docs/decide.md", () => {
  it("says in its table what decide does, whatever row, sighting and time, and each line is met", () => {
    const met = new Set<string>();
    const wrong = fc.sample(situations, { numRuns: 150_000, seed: 1 }).flatMap((situation) => {
      const { line, ...page } = readPage(situation);
      met.add(line);
      const decided = answer(situation);
      return decided.act === page.act && decided.reason === page.reason ? [] : [{ situation, page, decided }];
    });
    expect(wrong.slice(0, 1)).toEqual([]);
    expect(lines.map(({ line }) => line).filter((line) => !met.has(line))).toEqual([]);
  });

  it("is no page that anything satisfies: a table with two lines changed over is noticed", () => {
    const situation = {
      row: rowOf({ destroyRequestedAt: CREATED }),
      sighting: { seen: "present" as const, machine: machineOf(), isInventory: false },
      now: CREATED + 2 * HOUR,
    };
    const fitting = lines.filter(({ fits }) => fits(situation)).map(({ reason }) => reason);
    expect(fitting).toEqual(["`requested`", "`expired`", "`live`"]);
  });
});
