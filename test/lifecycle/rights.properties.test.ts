import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createMayfly, LOCAL, servers } from "../mayfly.ts";
import type { ServerState } from "../simulator/controls.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const TYPES = ["cx23", "cx33", "cpx22", "cax11"];
const REGIONS = ["fsn1", "nbg1", "hel1"];
const IMAGES = ["debian-12", "ubuntu-24.04"];
const LENGTHS = ["1h", "3h", "6h"];
const MINUTES: Readonly<Record<string, number>> = { "1h": 60, "3h": 180, "6h": 360 };
const FIREWALL = { rules: [{ direction: "in" as const, protocol: "tcp" as const, port: "22" }] };
const NETWORK = { ip_range: "10.0.0.0/16" };

/** Of an object's fields any number, each said or left out. */
const some = <T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] });
const choices = (names: readonly string[]) =>
  fc.oneof(fc.constantFrom(...names), fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }));
const patterns = (names: readonly string[]) => fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 });

/** Few rules at a time, or nothing would ever be allowed. */
const rarely = <T>(what: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: what });
const policies = fc.record({
  may: rarely(
    fc.subarray(["machines" as const, "ssh_keys" as const, "firewalls" as const, "networks" as const], {
      minLength: 1,
    }),
  ),
  longest: rarely(fc.constantFrom(...LENGTHS)),
  server_types: rarely(patterns(TYPES)),
  regions: rarely(patterns(REGIONS)),
  images: rarely(patterns(IMAGES)),
  profiles: rarely(patterns(["one", "two"])),
  only_profiles: rarely(fc.boolean()),
  cloud_init: rarely(fc.boolean()),
  needs_firewall: rarely(fc.boolean()),
});
const fields = {
  image: fc.constantFrom(...IMAGES),
  ttl: fc.constantFrom(...LENGTHS),
  cloud_init: fc.constantFrom("", "#!/bin/sh"),
  keep_on_failure: fc.constantFrom(...LENGTHS),
  ssh_keys: fc.constantFrom<string[]>([], [KEY_A]),
  firewalls: fc.constantFrom<(typeof FIREWALL)[]>([], [FIREWALL]),
  networks: fc.constantFrom<(typeof NETWORK)[]>([], [NETWORK]),
};
const profiles = fc.record(
  { ...fields, server_type: choices(TYPES), region: choices(REGIONS), cloud_init: fc.constant("#!profile") },
  { requiredKeys: ["server_type", "region", "cloud_init"] },
);
const bodies = fc.oneof(
  fc.record({ profile: fc.constantFrom("one", "two"), ttl: rarely(fc.constantFrom(...LENGTHS)) }),
  some({ ...fields, profile: fc.constantFrom("one", "two"), server_type: choices(TYPES), region: choices(REGIONS) }),
);
interface Sent {
  readonly profile?: string;
  readonly ssh_keys?: readonly unknown[];
  readonly firewalls?: readonly unknown[];
  readonly networks?: readonly unknown[];
}
const situations = fc.record({
  policy: policies,
  one: profiles,
  two: profiles,
  sent: fc.array(bodies, { minLength: 5, maxLength: 5 }),
});
type Situation = typeof situations extends fc.Arbitrary<infer T> ? T : never;

const anyOf = (names: readonly string[] | undefined, name: string): boolean => names?.includes(name) ?? true;

const KINDS = ["ssh_keys", "firewalls", "networks"] as const;

/** What a machine has that its policy forbids. */
function forbiddenIn(server: ServerState, isGuarded: boolean, policy: Situation["policy"], sent: Sent): string[] {
  const { may = ["machines", ...KINDS], longest = "24h" } = policy;
  const seconds = (label: string) => Number(server.labels?.[label]) - Number(server.labels?.["created"]);
  const most = 60 * (MINUTES[longest] ?? 1440);
  const isMore = Object.entries(sent).some(([key, value]) => value !== undefined && key !== "profile" && key !== "ttl");
  const ofProfile = sent.profile === undefined ? null : "#!profile";
  const holds = {
    machines: may.includes("machines"),
    server_types: anyOf(policy.server_types, server.server_type.name),
    regions: anyOf(policy.regions, server.location.name),
    images: anyOf(policy.images, server.image?.name ?? ""),
    profiles: sent.profile === undefined || anyOf(policy.profiles, sent.profile),
    only_profiles: policy.only_profiles !== true || (sent.profile !== undefined && !isMore),
    cloud_init: policy.cloud_init !== false || server.user_data === ofProfile,
    needs_firewall: policy.needs_firewall !== true || isGuarded,
    longest: seconds("mayfly-expires") <= most && seconds("mayfly-max") <= most,
    made: KINDS.every((kind) => may.includes(kind) || (sent[kind] ?? []).length === 0),
  };
  return Object.entries(holds).flatMap(([rule, isKept]) => (isKept ? [] : [rule]));
}

it("whatever the policy, its profiles and the body: what comes to the provider is allowed, and what is not never does", async () => {
  const mayfly = createMayfly(LOCAL);
  const seen = { made: 0, refused: 0 };
  let names = 0;
  const property = fc.asyncProperty(situations, async (situation) => {
    const { policy, one, two, sent } = situation;
    mayfly.configure({
      POLICIES: JSON.stringify([{ name: "default", ...policy }]),
      PROFILES: JSON.stringify({ one, two }),
    });
    for (const body of sent) {
      mayfly.simulator.reset();
      const { status } = await mayfly.send("PUT", `/v1/machines/job-${++names}`, body);
      const { firewalls } = mayfly.simulator.state();
      const isGuarded = firewalls.some(({ applied_to }) => applied_to.length > 0);
      const made = servers(mayfly);
      expect(made).toHaveLength(status === 201 ? 1 : 0);
      expect(made.flatMap((server) => forbiddenIn(server, isGuarded, policy, body))).toEqual([]);
      const asked = mayfly.simulator.requests().filter(({ method }) => method !== "GET");
      expect(asked.length > 0).toBe(status === 201);
      if (status === 201) seen.made += 1;
      else if (status === 403) seen.refused += 1;
    }
  });
  await fc.assert(property, { numRuns: 25, seed: 1 });
  // Else it would have said little.
  expect(Math.min(seen.made, seen.refused)).toBeGreaterThan(20);
});
