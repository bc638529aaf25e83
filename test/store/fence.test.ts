import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { machineOf } from "../machine/fixtures.ts";
import { HOUR, NOW } from "../mayfly.ts";
import type { Store } from "../../src/store/store.ts";
import {
  anyTry,
  countedStore,
  everything,
  machineRowOf,
  put,
  putMachine,
  putResource,
  resourceRowOf,
} from "./tables.ts";

const FENCE = 7;
const END = NOW + HOUR;
const LATER = END + HOUR;
const TRY = { uid: "active", expiresAt: END, error: "e", nextTryAt: NOW, failed: true };
const SERVER_TYPE = { name: "cx23", arch: "amd64", cores: 2, memoryGb: 4, regions: [] };
const CATALOGUE = { serverTypes: [SERVER_TYPE], fetchedAt: NOW, currency: "EUR", credential: "c" };
const ALL = { owner: null, labels: [] };
const NEW = machineRowOf({ uid: "new" });
const ORPHAN = { ...machineRowOf({ uid: "orphan" }), machine: machineOf({ providerId: "9" }) };
const RESOURCE = {
  id: "9",
  labels: {},
  hasLabels: true,
  createdAt: NOW,
  machineIds: [],
  material: null,
  selectors: [],
};
const TOKEN = {
  id: "old",
  owner: "tok.ci",
  policy: "default",
  note: "",
  authEpoch: "1",
  createdAt: NOW,
  expiresAt: END,
};
const HOLDER = { secretSha256: "old", authEpoch: "1", now: NOW };
const CHARGE = { day: "2026-11-30", hours: 1, microEur: 8, estimatedMicroEur: 0 };
const OLD = { before: LATER, now: LATER + 24 * HOUR, limit: 9 };
const DELIVERY = {
  uid: "00000000-0000-4000-8000-00000000000d",
  hook: "preview",
  delivery: "d",
  rule: 0,
  source: "1",
  owner: "hook.preview.1",
  name: "pr-1",
  act: "create",
  rank: NOW,
  ttl: null,
  labels: {},
  receivedAt: NOW,
} as const;
/** One that somebody has claimed until END. */
const seedDelivery = async (): Promise<void> =>
  void (await countedStore().store.deliveries.takeOn([DELIVERY], { now: NOW, until: END, tooOld: 0 }));
const SWEEP = {
  id: FENCE,
  startedBy: "cron",
  dryRun: false,
  scheduledAt: NOW,
  startedAt: NOW,
  finishedAt: NOW,
  outcome: "ok",
  report: {},
} as const;

interface Call {
  readonly changes: boolean;
  readonly run: (store: Store) => Promise<unknown>;
  /** What has to be there beforehand. */
  readonly seed?: () => Promise<void>;
}
const writes = (run: Call["run"], seed?: Call["seed"]): Call => ({ changes: true, run, ...(seed && { seed }) });
const reads = (run: Call["run"]): Call => ({ changes: false, run });

/** Every method of a store, save those of the lock, which name their own number: the compiler misses one that is not here. */
type Calls = { readonly [Group in Exclude<keyof Store, "lock">]: { readonly [Name in keyof Store[Group]]: Call } };

const CALLS: Calls = {
  machines: {
    insert: writes(({ machines }) => machines.insert(NEW, NOW)),
    insertUsing: writes(({ machines }) => machines.insertUsing(NEW, NOW, { uses: ["active"] })),
    byUid: reads(({ machines }) => machines.byUid("active")),
    byName: reads(({ machines }) => machines.byName("tok.ci", "active")),
    liveAt: reads(({ machines }) => machines.liveAt("42")),
    toShow: reads(({ machines }) => machines.toShow("tok.ci", { by: "uid", uid: "active" })),
    ofMachines: reads(({ machines }) => machines.ofMachines([machineOf()])),
    choose: writes(({ machines }) =>
      machines.choose(
        "requested",
        {
          serverType: "cx33",
          region: "nbg1",
          image: "i",
          attachments: null,
          credential: "c",
          labels: {},
          keepOnFailureMs: null,
        },
        NOW,
        END,
      ),
    ),
    adopt: writes(({ machines }) =>
      machines.adopt(
        "requested",
        {
          uid: "n",
          account: "tok.ci",
          requestedAt: NOW,
          expiresAt: END,
          maxUntil: LATER,
          credential: "c",
          hasIpv4: false,
        },
        NOW,
      ),
    ),
    observe: writes(({ machines }) => machines.observe([{ uid: "requested", machine: machineOf() }], NOW)),
    noteSeen: writes(({ machines }) => machines.noteSeen(["active"], NOW + 1)),
    rename: writes(({ machines }) => machines.rename("active", "other")),
    list: reads(({ machines }) => machines.list({ owner: null, statuses: [], labels: [], page: 1, perPage: 9 })),
  },
  deliveries: {
    takeOn: writes(({ deliveries }) => deliveries.takeOn([DELIVERY], { now: NOW, until: LATER, tooOld: NOW - END })),
    due: reads(({ deliveries }) => deliveries.due(LATER, 9)),
    claim: writes(({ deliveries }) => deliveries.claim(DELIVERY.uid, LATER, LATER + 1), seedDelivery),
    finish: writes(
      ({ deliveries }) =>
        deliveries.finish(DELIVERY.uid, { state: "done", machineUid: null, reason: null, detail: null }, NOW),
      seedDelivery,
    ),
    postpone: writes(
      ({ deliveries }) =>
        deliveries.postpone({ uid: DELIVERY.uid, nextTryAt: END }, LATER, { reason: "capacity", detail: null }),
      seedDelivery,
    ),
    list: reads(({ deliveries }) => deliveries.list(null, null, 1, 9)),
  },
  limits: {
    count: reads(({ limits }) => limits.count("tok.ci")),
    perHour: reads(({ limits }) => limits.perHour("tok.ci")),
    spent: reads(({ limits }) => limits.spent("tok.ci", [])),
    dearest: reads(({ limits }) => limits.dearest("hetzner")),
    ofAccount: reads(({ limits }) => limits.ofAccount("tok.ci", null)),
  },
  leases: {
    renew: writes(({ leases }) => leases.renew({ uid: "active", now: NOW, to: LATER, months: [] })),
    keep: writes(({ leases }) => leases.keep({ uid: "active", now: NOW, to: LATER, months: [] })),
    learnEnds: writes(({ leases }) => leases.learnEnds([{ uid: "active", from: END, to: LATER }])),
    markLabelled: writes(({ leases }) => leases.markLabelled([{ uid: "active", expiresAt: LATER }], NOW)),
    claimLabels: writes(
      ({ leases }) => leases.claimLabels(NOW, NOW, 9),
      () => putMachine({ uid: "behind", providerId: "77", labelExpiresAt: NOW }),
    ),
  },
  work: {
    due: reads(({ work }) => work.due(NOW, 9, null)),
    countOverdue: reads(({ work }) => work.countOverdue(NOW, NOW)),
    unsettled: reads(({ work }) => work.unsettled(NOW, 9)),
    unproven: reads(({ work }) => work.unproven(NOW, 9)),
    countBehind: reads(({ work }) => work.countBehind(NOW)),
    claimTry: writes(({ work }) => work.claimTry("requested", anyTry(NOW, END))),
    claimLook: writes(({ work }) => work.claimLook(["active"], NOW, NOW)),
    forgetFirewall: writes(({ work }) => work.forgetFirewall(["active"], "1")),
    giveBack: writes(({ work }) => work.giveBack("active", "e", NOW)),
    giveBackTry: writes(
      ({ work }) => work.giveBackTry("tried", [END], "e", NOW),
      () => putMachine({ uid: "tried", phase: "requested", status: "creating", nextTryAt: END }),
    ),
    keepTry: writes(
      ({ work }) => work.keepTry("tried", [END], LATER, null),
      () => putMachine({ uid: "tried", phase: "requested", status: "creating", nextTryAt: END }),
    ),
    postpone: writes(({ work }) => work.postpone([{ ...TRY, missing: true, mismatched: true }], NOW)),
  },
  endings: {
    close: writes(({ endings }) => endings.close([{ uid: "active", phase: "destroyed", reason: "gone" }], NOW)),
    fail: writes(({ endings }) => endings.fail([{ uid: "requested", reason: "capacity" }], NOW)),
    requestDestroy: writes(({ endings }) => endings.requestDestroy("active", NOW)),
    requestDestroyAll: writes(({ endings }) => endings.requestDestroyAll(ALL, NOW, 9)),
    forbidReturn: writes(({ endings }) => endings.forbidReturn("lost", NOW)),
    forbidReturns: writes(({ endings }) => endings.forbidReturns(ALL, NOW)),
    claimDestroy: writes(({ endings }) =>
      endings.claimDestroy([{ uid: "active", reason: "expired", expiresAt: END }], NOW),
    ),
    markAccepted: writes(({ endings }) => endings.markAccepted([{ uid: "destroying", providerId: "3" }], NOW)),
    endLater: writes(
      ({ endings }) => endings.endLater([{ uid: "ended", machine: machineOf() }], LATER),
      () => putMachine({ uid: "ended", phase: "destroyed", status: "destroyed", destroyedAt: END }),
    ),
    reopen: writes(({ endings }) => endings.reopen([{ uid: "failed", machine: machineOf({ providerId: "4" }) }], NOW)),
  },
  inventory: {
    reviveRows: writes(({ inventory }) => inventory.reviveRows([{ ...ORPHAN, labelUid: "lost" }], NOW)),
    adoptOrphans: writes(({ inventory }) => inventory.adoptOrphans([ORPHAN], NOW)),
    shownIn: reads(({ inventory }) => inventory.shownIn({ from: "", below: null }, [], 9, NOW)),
    countShown: reads(({ inventory }) => inventory.countShown(NOW)),
    countLive: reads(({ inventory }) => inventory.countLive()),
    markMissing: writes(({ inventory }) => inventory.markMissing(["active"], NOW)),
    markMismatched: writes(({ inventory }) => inventory.markMismatched(["active"], NOW)),
    forgetMissing: writes(({ inventory }) => inventory.forgetMissing(NOW)),
    adoptCredential: writes(({ inventory }) => inventory.adoptCredential(["fingerprint"], "other")),
    adoptCredentialForAll: writes(({ inventory }) => inventory.adoptCredentialForAll("other", NOW)),
  },
  outlook: { read: reads(({ outlook }) => outlook.read(NOW, 9)) },
  ledger: {
    toBook: reads(({ ledger }) => ledger.toBook(9)),
    ofMonth: reads(({ ledger }) =>
      ledger.ofMonth({ month: "2026-11", ends: LATER, account: "tok.ci", owner: null, part: "day" }, 9),
    ),
    book: writes(
      ({ ledger }) =>
        ledger.book([{ uid: "ended", destroyedAt: END, bookedHours: 0, hours: 1, charges: [CHARGE] }], NOW),
      () => putMachine({ uid: "ended", phase: "destroyed", status: "destroyed", destroyedAt: END }),
    ),
  },
  history: {
    machines: writes(
      ({ history }) => history.machines(OLD),
      async () => {
        await putMachine({ uid: "ended", phase: "destroyed", status: "destroyed", destroyedAt: NOW });
        await env.DB.exec("UPDATE machines SET booked_at = 1 WHERE uid = 'ended'");
      },
    ),
    events: writes(
      ({ history }) => history.events(OLD),
      () => put("events", { at: NOW, event: "token_minted" }),
    ),
    sweeps: writes(
      ({ history }) => history.sweeps(OLD),
      () => put("sweeps", SWEEP),
    ),
    resources: writes(
      ({ history }) => history.resources(OLD),
      () => putResource({ uid: "ended", phase: "deleted", deletedAt: NOW }),
    ),
    tombstones: writes(
      ({ history }) => history.tombstones(OLD),
      () => put("tombstones", { owner: "tok.ci", name: "box", until: NOW }),
    ),
    tokens: writes(({ history }) => history.tokens(OLD)),
    deliveries: writes(
      ({ history }) => history.deliveries(OLD),
      async () => {
        await seedDelivery();
        await env.DB.prepare("UPDATE deliveries SET state = 'done'").run();
      },
    ),
    ranks: writes(
      ({ history }) => history.ranks(OLD),
      async () => {
        await env.DB.prepare("INSERT INTO hook_ranks (owner, name, rank, until) VALUES ('o', 'n', 1, ?)")
          .bind(NOW)
          .run();
      },
    ),
    days: writes(
      ({ history }) => history.days({ ...OLD, before: OLD.before + 2 * 24 * HOUR }),
      () =>
        put("charges", {
          period: "2026-11-30",
          account: "a",
          owner: "o",
          serverType: "t",
          hours: 1,
          microEur: 1,
          estimatedMicroEur: 0,
        }),
    ),
  },
  reapFailures: {
    of: reads(({ reapFailures }) => reapFailures.of(["1"])),
    forgetBefore: writes(({ reapFailures }) => reapFailures.forgetBefore(Number.MAX_SAFE_INTEGER)),
    record: writes(({ reapFailures }) =>
      reapFailures.record([{ providerId: "1", attempts: 1, nextTryAt: NOW, error: "e" }], []),
    ),
  },
  resources: {
    insert: writes(({ resources }) => resources.insert(resourceRowOf({ uid: "new" }), NOW, "active", null)),
    byUid: reads(({ resources }) => resources.byUid("firewall")),
    byName: reads(({ resources }) => resources.byName("firewall", "tok.ci", "firewall")),
    liveAt: reads(({ resources }) => resources.liveAt("firewall", "tok.ci", "42")),
    named: reads(({ resources }) => resources.named("tok.ci", ["firewall"])),
    list: reads(({ resources }) => resources.list("firewall", { owner: null, labels: [], page: 1, perPage: 9 })),
    claimTry: writes(({ resources }) => resources.claimTry("wanted", NOW, END, null)),
    made: writes(({ resources }) => resources.made("wanted", RESOURCE)),
    giveBackTry: writes(
      ({ resources }) => resources.giveBackTry("tried", [END], "e", NOW),
      () => putResource({ uid: "tried", phase: "requested", createdAt: null, nextTryAt: END }),
    ),
    renew: writes(({ resources }) => resources.renew("firewall", END)),
    use: writes(({ resources }) => resources.use("active", ["firewall"])),
    forgetUses: writes(
      ({ resources }) => resources.forgetUses(NOW),
      async () => {
        await putMachine({ uid: "gone", phase: "destroyed", status: "destroyed", destroyedAt: NOW - 1 });
        await put("resource_uses", { resourceUid: "used", machineUid: "gone" });
      },
    ),
    release: writes(({ resources }) => resources.release("used", ["active"])),
    releaseUnlessLast: writes(
      ({ resources }) => resources.releaseUnlessLast("used", ["active"]),
      async () => {
        await putResource({ uid: "other" });
        await put("resource_uses", { resourceUid: "other", machineUid: "active" });
      },
    ),
    restoreUses: writes(({ resources }) => resources.restoreUses("firewall", ["active"])),
    users: reads(({ resources }) => resources.users(["used"])),
    fail: writes(({ resources }) => resources.fail("wanted", "capacity", NOW)),
    requestDelete: writes(({ resources }) => resources.requestDelete(["firewall"], NOW)),
    requestDeleteAll: writes(({ resources }) => resources.requestDeleteAll("tok.ci", NOW, 9)),
    ofOwner: reads(({ resources }) => resources.ofOwner("tok.ci", 9)),
    ended: reads(({ resources }) => resources.ended(NOW, 9)),
    noteIdle: writes(({ resources }) => resources.noteIdle(["firewall"], NOW)),
    claimDelete: writes(({ resources }) => resources.claimDelete([resourceRowOf()], NOW)),
    close: writes(({ resources }) => resources.close([{ uid: "firewall", reason: "gone" }], NOW)),
    postpone: writes(({ resources }) =>
      resources.postpone([{ uid: "firewall", error: "e", nextTryAt: NOW, failed: true, missing: true }], NOW),
    ),
    ofResources: reads(({ resources }) => resources.ofResources("firewall", [{ id: "1", uid: "firewall" }])),
    reopen: writes(({ resources }) => resources.reopen("deleted", "9", NOW)),
    isNameLost: reads(({ resources }) => resources.isNameLost(resourceRowOf())),
    insertOrphan: writes(({ resources }) => resources.insertOrphan(resourceRowOf({ uid: "orphan" }), NOW)),
  },
  events: {
    tellDestroyed: writes(({ events }) =>
      events.tellDestroyed(
        [
          {
            uid: null,
            owner: "tok.ci",
            account: "tok.ci",
            name: "box",
            createdAt: NOW,
            hasIpv4: false,
            priceMicroEur: null,
            priceMonthMicroEur: null,
            ipv4MicroEur: null,
            ipv4MonthMicroEur: null,
            providerId: "9",
            reason: "max_age",
          },
        ],
        NOW,
      ),
    ),
    list: reads(({ events }) =>
      events.list({
        owner: "tok.ci",
        account: null,
        machine: null,
        reason: null,
        kinds: ["created"],
        since: NOW,
        page: 1,
        perPage: 9,
      }),
    ),
  },
  sweeps: {
    insert: writes(({ sweeps }) => sweeps.insert(SWEEP)),
    list: reads(({ sweeps }) => sweeps.list(1, 9)),
  },
  tokens: {
    insert: writes(({ tokens }) => tokens.insert({ ...TOKEN, id: "new", secretSha256: "new", idempotency: null })),
    byIdempotency: reads(({ tokens }) => tokens.byIdempotency("key", NOW)),
    replaceSecret: writes(({ tokens }) => tokens.replaceSecret("old", "other", "1", NOW)),
    noteUse: writes(({ tokens }) => tokens.noteUse("old", NOW, NOW)),
    list: reads(({ tokens }) => tokens.list(1, 9)),
    revoke: writes(({ tokens }) => tokens.revoke("old", NOW)),
  },
  ahead: {
    ofHolder: reads(({ ahead }) => ahead.ofHolder(HOLDER, ({ lock }) => [lock.read()])),
    ofOwner: reads(({ ahead }) =>
      ahead.ofOwner("tok.ci", ({ lock, settings }) => [lock.read(), settings.installation()]),
    ),
  },
  tombstones: {
    set: writes(({ tombstones }) => tombstones.set("tok.ci", "box", END, NOW)),
    until: reads(({ tombstones }) => tombstones.until("tok.ci", "box", NOW)),
  },
  settings: {
    installation: reads(({ settings }) => settings.installation()),
    claimInstallation: writes(({ settings }) => settings.claimInstallation("one")),
    blastCap: reads(({ settings }) => settings.blastCap(NOW)),
    releaseBlastCap: writes(({ settings }) => settings.releaseBlastCap(END, NOW)),
    holdBlastCap: writes(({ settings }) => settings.holdBlastCap(END)),
    inventoryReleasedUntil: reads(({ settings }) => settings.inventoryReleasedUntil(NOW)),
    releaseInventory: writes(({ settings }) => settings.releaseInventory(END, NOW)),
    moveInstallation: writes(
      ({ settings }) => settings.moveInstallation("one", "two"),
      () => put("settings", { key: "installation", value: "one" }),
    ),
  },
  cooldowns: {
    add: writes(({ cooldowns }) => cooldowns.add("hetzner", { serverType: "cx23", region: "fsn1" }, END)),
    current: reads(({ cooldowns }) => cooldowns.current(NOW)),
  },
  catalogues: {
    read: reads(({ catalogues }) => catalogues.read("hetzner")),
    write: writes(({ catalogues }) => catalogues.write("hetzner", CATALOGUE)),
  },
  room: { bytes: reads(({ room }) => room.bytes()) },
};

beforeEach(async () => {
  await env.DB.prepare("UPDATE locks SET fence = ?").bind(FENCE).run();
  const attachments = { firewallIds: ["1"], networkIds: [] };
  await putMachine({ attachments, providerId: "2" });
  await putMachine({ uid: "missing", missingSince: NOW, providerId: "5" });
  await putMachine({ uid: "requested", phase: "requested", status: "creating" });
  await putMachine({ uid: "destroying", phase: "destroying", status: "deleting", deleteAcceptedAt: NOW });
  await putMachine({ uid: "failed", phase: "failed", status: "destroyed" });
  await putMachine({ uid: "lost", phase: "destroyed", status: "destroyed", reason: "lost" });
  await putResource();
  await putResource({ uid: "wanted", phase: "requested", createdAt: null });
  await putResource({ uid: "deleted", phase: "deleted" });
  await putResource({ uid: "used" });
  await put("resource_uses", { resourceUid: "used", machineUid: "active" });
  await put("reap_failures", { providerId: "9", attempts: 1, nextTryAt: 0, lastError: "e" });
  await put("tokens", { ...TOKEN, secretSha256: "old" });
});

const CASES = Object.entries(CALLS).flatMap(([group, calls]) =>
  Object.entries<Call>(calls).map(([name, call]) => ({ name: `${group}.${name}`, call })),
);

describe("a store that was opened with a fence", () => {
  it.each(CASES)(
    "$name: under an old number, and read-only, it changes nothing and counts the same",
    async ({ call }) => {
      await call.seed?.();
      const before = await everything();
      const overtaken = countedStore({ fence: FENCE - 1 });
      await call.run(overtaken.store);
      expect(await everything()).toEqual(before);
      const dry = countedStore({ readOnly: true });
      await call.run(dry.store);
      expect(await everything()).toEqual(before);
      const held = countedStore({ fence: FENCE });
      await call.run(held.store);
      expect(JSON.stringify(await everything()) !== JSON.stringify(before)).toBe(call.changes);
      expect([overtaken.count(), dry.count()]).toEqual([held.count(), held.count()]);
      expect(held.count()).toBeGreaterThan(0);
    },
  );
});
