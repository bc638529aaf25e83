import { describe, expect, it } from "vitest";
import { actingFor, type Principal } from "../../src/auth/principal.ts";
import { createMachine } from "../../src/lifecycle/create.ts";
import { createResource } from "../../src/lifecycle/create-resource.ts";
import { destroyMany } from "../../src/lifecycle/destroy-many.ts";
import { findMachine } from "../../src/lifecycle/find.ts";
import { checkOrder, type MachineOrder } from "../../src/lifecycle/order.ts";
import type { Outcome } from "../../src/lifecycle/refusal.ts";
import { forbidName, releaseMachine } from "../../src/lifecycle/release.ts";
import type { Attachment } from "../../src/machine/attachment.ts";
import { createMayfly, HOUR, MINUTE, principalOf, servers } from "../mayfly.ts";

/** A hook's principal, whose machines count against another account than its own. */
const HOOK: Principal = { ...principalOf("hook.ci"), account: "tok.alice" };
const ORDER: MachineOrder = { serverTypes: ["cx23"], regions: ["fsn1"], ttl: "30m" };
const valueOf = <T>(outcome: Outcome<T>): T => {
  if (outcome.ok) return outcome.value;
  throw new Error(outcome.refusal.message);
};
const problemIn = (outcome: Outcome<unknown>) => (outcome.ok ? null : outcome.refusal.problem);

describe("without HTTP", () => {
  it("a machine is made by one call, and is the one that the same owner would get over HTTP", async () => {
    const mayfly = createMayfly();
    const order = { ...ORDER, labels: { run: "1" }, keepOnFailure: "2h", image: "debian-12" };
    const { row, isNew, candidates } = valueOf(await createMachine(mayfly.context(), HOOK, "job-1", order));
    expect({ ...row, isNew }).toMatchObject({
      isNew: true,
      owner: "hook.ci",
      account: "tok.alice",
      name: "job-1",
      phase: "active",
      expiresAt: mayfly.now() + 30 * MINUTE,
      keepOnFailureMs: 2 * HOUR,
    });
    expect(candidates).toMatchObject([{ serverType: "cx23", region: "fsn1", outcome: "chosen" }]);
    expect(servers(mayfly)).toMatchObject([
      { labels: { run: "1", "mayfly-owner": "hook.ci", "mayfly-name": "job-1" } },
    ]);
    const body = {
      server_type: "cx23",
      region: ["fsn1"],
      labels: { run: "1" },
      keep_on_failure: "2h",
      image: "debian-12",
    };
    expect((await mayfly.send("PUT", "/v1/machines/job-1?owner=hook.ci", body)).status).toBe(200);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("a repeat is the same machine, and another order under its name is refused", async () => {
    const mayfly = createMayfly();
    const { row } = valueOf(await createMachine(mayfly.context(), HOOK, "job-1", ORDER));
    expect(await createMachine(mayfly.context(), HOOK, "job-1", { ...ORDER, ttl: "10m" })).toMatchObject({
      value: { isNew: false, row: { uid: row.uid } },
    });
    expect(await createMachine(mayfly.context(), HOOK, "job-1", { ...ORDER, image: "debian-12" })).toMatchObject({
      refusal: { code: "spec_mismatch" },
    });
  });

  it("every rule holds that a caller over HTTP meets, before anything is written", async () => {
    const mayfly = createMayfly();
    const refused = async (order: Partial<MachineOrder>, name = "job-1") =>
      problemIn(await createMachine(mayfly.context(), HOOK, name, { ...ORDER, ...order }))?.field;
    expect(await refused({}, "Job_1")).toBe("name");
    expect(await refused({ serverTypes: undefined })).toBe("server_type");
    expect(await refused({ arch: "amd64" })).toBe("arch");
    expect(await refused({ labels: { "mayfly-uid": "x" } })).toBe("labels.mayfly-uid");
    expect(await refused({ ttl: "59s" })).toBe("ttl");
    expect(await refused({ ttl: "soon" })).toBe("ttl");
    expect(await refused({ keepOnFailure: "25h" })).toBe("keep_on_failure");
    const context = mayfly.context();
    const order = { name: "Key", spec: { kind: "network", ipRange: "10.0.0.0/16", region: "fsn1" } } as const;
    expect(problemIn(await createResource(context, HOOK, order))?.field).toBe("name");
    expect(problemIn(await createResource(context, HOOK, { ...order, name: "net", ttl: "1s" }))?.field).toBe("ttl");
    expect(mayfly.simulator.requests()).toEqual([]);
    expect((await mayfly.store.settings.installation()) ?? "none yet").toBe("none yet");
  });

  it("no more may be attached than a provider takes, nor more be made with a machine than one call can pay for", () => {
    const named = (index: number): Attachment => ({
      field: `firewalls.${index}`,
      kind: "firewall",
      by: "ref",
      ref: { by: "name", name: `f-${index}` },
    });
    const made = (index: number): Attachment => ({
      field: `networks.${index}`,
      kind: "network",
      by: "spec",
      spec: { kind: "network", ipRange: "10.0.0.0/16", region: "fsn1" },
    });
    const fieldOf = (attachments: readonly Attachment[]) => {
      const checked = checkOrder({ ...ORDER, attachments }, { maxAgeMs: HOUR, profiles: new Map() });
      return checked.ok ? null : checked.problem.field;
    };
    expect(fieldOf([0, 1, 2, 3, 4].map(named))).toBeNull();
    expect(fieldOf([0, 1, 2, 3, 4, 5].map(named))).toBe("firewalls.5");
    expect(fieldOf([0, 1, 2, 3].map(made))).toBe("networks.3");
    expect(fieldOf([0, 1, 2, 3, 4, 5].map(made))).toBe("networks.5");
  });

  it("a machine whose job failed is kept where that was asked for, and destroyed otherwise", async () => {
    const mayfly = createMayfly();
    const context = mayfly.context();
    const kept = valueOf(await createMachine(context, HOOK, "kept", { ...ORDER, keepOnFailure: "2h" })).row;
    expect(valueOf(await releaseMachine(context, HOOK, kept, true))).toMatchObject({
      isKept: true,
      row: { expiresAt: mayfly.now() + 2 * HOUR },
    });
    const plain = valueOf(await createMachine(context, HOOK, "plain", ORDER)).row;
    expect(valueOf(await releaseMachine(context, HOOK, plain, true))).toMatchObject({ isKept: false });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("a name can be forbidden, which an id cannot, and nothing is destroyed by labels that name nothing", async () => {
    const mayfly = createMayfly();
    const context = mayfly.context();
    const ref = { by: "name", name: "job-1" } as const;
    const of = (tombstone: string) => ({ tombstone, hasFailed: false });
    expect(problemIn(await forbidName(context, HOOK, ref, of("25h")))?.field).toBe("tombstone");
    expect(problemIn(await forbidName(context, HOOK, { by: "uid", uid: "x" }, of("10m")))?.field).toBe("tombstone");
    valueOf(await forbidName(context, HOOK, ref, of("10m")));
    expect(await createMachine(context, HOOK, "job-1", ORDER)).toMatchObject({ refusal: { code: "released" } });
    const nothing = await destroyMany(context, HOOK, {
      labels: [{ key: "run", test: "in", values: [""] }],
      dryRun: true,
    });
    expect(problemIn(nothing)?.field).toBe("label_selector");
  });
});

describe("whom a caller acts as", () => {
  const ADMIN: Principal = { ...principalOf("admin"), kind: "admin", evidence: { by: "admin_token" }, seesAll: true };

  it("is itself, or for an admin the owner that it names, who then sees that owner's alone", async () => {
    expect(actingFor(HOOK, undefined)).toBe(HOOK);
    expect(actingFor(HOOK, "hook.ci")).toEqual(HOOK);
    expect(actingFor(HOOK, "tok.alice")).toBeNull();
    expect(actingFor(ADMIN, undefined)).toBe(ADMIN);
    expect(actingFor(ADMIN, "tok.bob")).toEqual({
      ...ADMIN,
      owner: "tok.bob",
      account: "tok.bob",
      seesAll: false,
    });
    const mayfly = createMayfly();
    const { row } = valueOf(await createMachine(mayfly.context(), HOOK, "job-1", ORDER));
    const found = async (principal: Principal | null) =>
      principal && (await findMachine(mayfly.context(), principal, { by: "uid", uid: row.uid }))?.name;
    expect(await found(ADMIN)).toBe("job-1");
    expect(await found(actingFor(ADMIN, "hook.ci"))).toBe("job-1");
    expect(await found(actingFor(ADMIN, "admin"))).toBeUndefined();
    expect(await found({ ...HOOK, owner: "hook.other" })).toBeUndefined();
  });
});
