import { describe, expect, it } from "vitest";
import { decide, type Verdict } from "../../src/machine/decide.ts";
import { endOf } from "../../src/machine/lease.ts";
import { isOurs, isSame } from "../../src/machine/ownership.ts";
import { LABEL } from "../../src/machine/labels.ts";
import type { Reason } from "../../src/machine/reason.ts";
import { present } from "../../src/machine/sighting.ts";
import { PHASES, type Labels, type LiveStatus, type Machine, type MachineRow } from "../../src/machine/machine.ts";
import { CREATED, DAY, HOUR, machineOf, OTHER_UID, OUR_LABELS, rowOf, RULES, SECOND, seconds } from "./fixtures.ts";

const judge = (row: MachineRow | null, machine: Machine, now: number): Verdict =>
  decide(row, present(machine), now, RULES);
const keep = (reason: Reason): Verdict => ({ act: "keep", reason, alert: false });
const alert = (reason: Reason): Verdict => ({ act: "keep", reason, alert: true });
const destroy = (reason: Reason): Verdict => ({ act: "destroy", reason, alert: false });

const LATER = CREATED + 400 * DAY;
const labelled = (labels: Labels): Machine => machineOf({ labels: { ...machineOf().labels, ...labels } });
/** Our labels, and no end or time of creation among them. */
const bare = (change: Partial<Machine> = {}): Machine => machineOf({ labels: OUR_LABELS, ...change });
const without = (key: string): Labels =>
  Object.fromEntries(Object.entries(machineOf().labels).filter(([name]) => name !== key));

describe("foreign: not ours and without a row, it is kept", () => {
  it.each<[string, Labels]>([
    ["no labels", {}],
    ["no managed label", without(LABEL.managed)],
    ["no installation", without(LABEL.installation)],
    ["another installation", { ...machineOf().labels, [LABEL.installation]: "sibling-installation" }],
    ["an empty installation", { ...machineOf().labels, [LABEL.installation]: "" }],
    ["managed in another spelling", { ...machineOf().labels, [LABEL.managed]: "True" }],
    ["managed, but false", { ...machineOf().labels, [LABEL.managed]: "false" }],
  ])("%s", (_, labels) => {
    const machine = machineOf({ labels });
    expect(isOurs(machine, RULES.installations)).toBe(false);
    expect(judge(null, machine, LATER)).toEqual(keep("foreign"));
  });

  it("a stranger that carries the uid of a row at another provider id", () => {
    const machine = labelled({ [LABEL.installation]: "sibling-installation" });
    for (const phase of PHASES)
      expect(judge(rowOf({ phase, providerId: "2" }), machine, LATER)).toEqual(keep("foreign"));
  });

  it("what a previous installation made is ours", () => {
    expect(judge(null, labelled({ [LABEL.installation]: "previous-installation" }), LATER)).toEqual(destroy("max_age"));
  });
});

describe("provider_protected: what would die and cannot is kept, with an alert", () => {
  const locked = machineOf({ deleteProtected: true });

  it.each<[string, MachineRow | null]>([
    ["expired", rowOf()],
    ["on the owner's word", rowOf({ destroyRequestedAt: CREATED })],
    ["a tombstone's", rowOf({ phase: "destroyed" })],
    ["older than MAX_AGE without a row", null],
  ])("%s", (_, row) => {
    expect(judge(row, locked, LATER)).toEqual(alert("provider_protected"));
  });

  it("one that lives on is no reason for an alert", () => {
    expect(judge(rowOf(), locked, CREATED)).toEqual(keep("live"));
  });
});

describe("dying: already being deleted, it is kept", () => {
  it.each<[string, MachineRow | null]>([
    ["no row", null],
    ["an expired row", rowOf()],
    ["the owner's word", rowOf({ destroyRequestedAt: CREATED })],
    ["a tombstone", rowOf({ phase: "failed" })],
    ["a row that does not match", rowOf({ uid: OTHER_UID })],
  ])("%s", (_, row) => {
    expect(judge(row, machineOf({ status: "deleting", deleteProtected: true }), LATER)).toEqual(keep("dying"));
  });
});

describe("identity_mismatch: at a live row's own provider id, but not what was recorded: kept, with an alert", () => {
  it.each<[string, Machine]>([
    ["another uid", labelled({ [LABEL.uid]: OTHER_UID })],
    ["no uid", machineOf({ labels: without(LABEL.uid) })],
    ["another installation", labelled({ [LABEL.installation]: "previous-installation" })],
    ["a stranger's installation", labelled({ [LABEL.installation]: "sibling-installation" })],
    ["created at another time", machineOf({ createdAt: CREATED + SECOND })],
    ["no labels at all, as a person takes them off", machineOf({ labels: {} })],
    ["no managed label, as a person takes it off", machineOf({ labels: without(LABEL.managed) })],
  ])("%s", (_, machine) => {
    expect(isSame(rowOf(), machine)).toBe(false);
    for (const phase of ["requested", "active", "destroying"] as const)
      expect(judge(rowOf({ phase, destroyRequestedAt: CREATED }), machine, LATER)).toEqual(alert("identity_mismatch"));
  });

  it("a time of creation that one side does not know is no difference", () => {
    expect(isSame(rowOf({ createdAt: null }), machineOf())).toBe(true);
    expect(isSame(rowOf(), machineOf({ createdAt: null }))).toBe(true);
  });
});

describe("late_landing: a machine under a tombstone's uid is destroyed", () => {
  it.each(["destroyed", "failed"] as const)("%s, however young it is", (phase) => {
    expect(judge(rowOf({ phase }), machineOf(), CREATED)).toEqual(destroy("late_landing"));
    expect(judge(rowOf({ phase, providerId: null }), bare({ createdAt: null }), CREATED)).toEqual(
      destroy("late_landing"),
    );
  });
});

describe("requested: the owner said so, it is destroyed", () => {
  it("long before its end, and with a provider id that the row never learnt", () => {
    const row = rowOf({ destroyRequestedAt: CREATED });
    expect(judge(row, machineOf(), CREATED)).toEqual(destroy("requested"));
    expect(judge({ ...row, providerId: null, createdAt: null }, machineOf(), CREATED)).toEqual(destroy("requested"));
  });
});

describe("expired: a live row at its end, it is destroyed", () => {
  it("at the very end, and not a millisecond before", () => {
    expect(judge(rowOf(), machineOf(), CREATED + HOUR - 1)).toEqual(keep("live"));
    expect(judge(rowOf(), machineOf(), CREATED + HOUR)).toEqual(destroy("expired"));
  });

  it.each<[string, Partial<MachineRow>, Labels, number]>([
    ["the row's, where it is later", { expiresAt: CREATED + 3 * HOUR }, {}, CREATED + 3 * HOUR],
    ["the label's, where it is later", {}, { [LABEL.expires]: seconds(CREATED + 5 * HOUR) }, CREATED + 5 * HOUR],
    ["the row's, where the label is none", {}, { [LABEL.expires]: "0" }, CREATED + HOUR],
    ["max_until, where the label says more", {}, { [LABEL.expires]: seconds(CREATED + 9 * DAY) }, CREATED + DAY],
    ["max_until, where the row says more", { expiresAt: CREATED + 9 * DAY }, {}, CREATED + DAY],
    [
      "the row's max_until, whatever mayfly-max says",
      { expiresAt: LATER },
      { [LABEL.max]: seconds(LATER) },
      CREATED + DAY,
    ],
  ])("the end is %s", (_, change, labels, end) => {
    const row = rowOf(change);
    const machine = labelled(labels);
    expect(endOf(row, machine)).toBe(end);
    expect(judge(row, machine, end - 1)).toEqual(keep("live"));
    expect(judge(row, machine, end)).toEqual(destroy("expired"));
  });

  it("whatever the provider says that it is doing, and whatever its age", () => {
    for (const status of ["creating", "running", "stopped", "unknown"] as const)
      expect(judge(rowOf({ createdAt: null }), bare({ status, createdAt: null }), CREATED + HOUR)).toEqual(
        destroy("expired"),
      );
  });
});

describe("launch_failed: creating past the deadline and not running, it is destroyed", () => {
  const creating = rowOf({ status: "creating" });
  const deadline = CREATED + RULES.launchDeadlineMs;

  it.each<LiveStatus>(["creating", "stopped", "unknown"])("%s", (status) => {
    expect(judge(creating, machineOf({ status }), deadline)).toEqual(keep("live"));
    expect(judge(creating, machineOf({ status }), deadline + 1)).toEqual(destroy("launch_failed"));
  });

  it("one that has come to run is launched, whatever the row still says", () => {
    expect(judge(creating, machineOf(), deadline + 1)).toEqual(keep("live"));
  });

  it("one that ran before and was stopped has not failed to launch", () => {
    expect(judge(rowOf(), machineOf({ status: "stopped" }), deadline + 1)).toEqual(keep("live"));
  });
});

describe("live: a row with time left, it is kept", () => {
  it("however old the machine itself is", () => {
    const long = rowOf({ expiresAt: CREATED + 20 * DAY, maxUntil: CREATED + 30 * DAY });
    expect(judge(long, machineOf(), CREATED + 19 * DAY)).toEqual(keep("live"));
  });
});

describe("max_age: without a row, older than MAX_AGE and past its label's end, it is destroyed", () => {
  const end = (expires: number, max?: number): Machine =>
    bare({
      labels: {
        ...OUR_LABELS,
        [LABEL.expires]: seconds(expires),
        ...(max === undefined ? {} : { [LABEL.max]: seconds(max) }),
      },
    });

  it("S167: one exactly that old survives", () => {
    expect(judge(null, bare(), CREATED + DAY)).toEqual(keep("no_row"));
    expect(judge(null, bare(), CREATED + DAY + 1)).toEqual(destroy("max_age"));
  });

  it("S161: by the label where the provider gives no time", () => {
    const machine = bare({ createdAt: null, labels: { ...OUR_LABELS, [LABEL.created]: seconds(CREATED) } });
    expect(judge(null, machine, CREATED + DAY)).toEqual(keep("no_row"));
    expect(judge(null, machine, CREATED + DAY + 1)).toEqual(destroy("max_age"));
  });

  it("a longer promise on its labels is kept, up to 30 days", () => {
    const machine = end(CREATED + 3 * DAY, CREATED + 30 * DAY);
    expect(judge(null, machine, CREATED + 3 * DAY - 1)).toEqual(keep("no_row"));
    expect(judge(null, machine, CREATED + 3 * DAY)).toEqual(destroy("max_age"));
  });

  it.each<[string, Machine, number]>([
    ["mayfly-max is further than 30 days off", end(LATER, CREATED + 30 * DAY + SECOND), CREATED + DAY],
    ["there is no mayfly-max", end(LATER), CREATED + DAY],
    ["mayfly-max comes first", end(CREATED + 9 * DAY, CREATED + 2 * DAY), CREATED + 2 * DAY - 1],
    [
      "the end is no time",
      labelled({ [LABEL.expires]: "soon", [LABEL.max]: seconds(CREATED + 9 * DAY) }),
      CREATED + DAY,
    ],
  ])("a promise is not believed where %s", (_, machine, last) => {
    expect(judge(null, machine, last)).toEqual(keep("no_row"));
    expect(judge(null, machine, last + 1)).toEqual(destroy("max_age"));
  });

  it("a disowned row protects nothing and condemns nothing: labels decide", () => {
    const disowned = rowOf({ phase: "disowned", destroyRequestedAt: CREATED });
    expect(judge(disowned, bare(), CREATED + HOUR)).toEqual(keep("no_row"));
    expect(judge(disowned, bare(), CREATED + DAY + 1)).toEqual(destroy("max_age"));
  });
});

describe("young, no_row, unknown_age: without a row and not too old, it is kept", () => {
  it("young: a create may still be in flight", () => {
    expect(judge(null, machineOf(), CREATED + RULES.graceMs - 1)).toEqual(keep("young"));
    expect(judge(null, machineOf(), CREATED + RULES.graceMs)).toEqual(keep("no_row"));
  });

  it("S168: created in the future is young", () => {
    expect(judge(null, machineOf({ createdAt: CREATED + HOUR }), CREATED)).toEqual(keep("young"));
  });

  it.each([{}, { [LABEL.created]: "" }, { [LABEL.created]: "0" }, { [LABEL.created]: seconds(CREATED * 1000) }])(
    "P48, S162, S164, S165: unknown age, %j, is not old age",
    (labels) => {
      const machine = bare({ createdAt: null, labels: { ...OUR_LABELS, ...labels } });
      expect(judge(null, machine, LATER)).toEqual(keep("unknown_age"));
    },
  );
});
