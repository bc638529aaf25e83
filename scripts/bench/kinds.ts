// The invocations whose CPU time is measured: each as it comes to a Worker that has been deployed, on a free plan.
import { deliveryOf, HOOK_SETTINGS } from "./hook.ts";
import { ORDER } from "./order.ts";
import type { Provider } from "./provider.ts";
import { endDue, seedMachines, seedPast } from "./seed.ts";
import type { Name } from "./targets.ts";
import type { World } from "./world.ts";

/** Where one invocation takes place. */
export interface Scene {
  readonly world: World;
  readonly provider: Provider;
  /** A minted token. */
  readonly token: string;
  /** Counts the invocations of this kind, over all isolates. */
  readonly nth: number;
  /** Whether it is the first in this isolate. */
  readonly isFirst: boolean;
}

export interface Kind {
  readonly name: Name;
  /** How many there are besides; 100 when absent. */
  readonly machines?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** What must be so, and is not measured. */
  readonly given?: (scene: Scene) => Promise<unknown>;
  readonly act: (scene: Scene) => Promise<unknown>;
}

const MINUTE = 60_000;
const DUE = { endsIn: -MINUTE };
/** As many as a free plan's tick takes. */
const AT_ONCE = 30;
const RESOURCES = 100;
/** More than all isolates forget, and the least that one of their ticks does. */
const [OLD, LEAST_FORGOTTEN] = [5000, 50];
const FULL_ORDER = { ...ORDER, labels: { run: "1" }, cloud_init: "#cloud-config\npackages: [git]\n" };

export const KINDS: readonly Kind[] = [
  {
    name: "cpu: GET",
    act: ({ world, token, nth }) => world.call("GET", `/v1/machines/m-${nth}`, 200, undefined, token),
  },
  {
    name: "cpu: list of 50",
    act: ({ world, token }) => world.call("GET", "/v1/machines?per_page=50", 200, undefined, token),
  },
  {
    name: "cpu: create",
    act: ({ world, token, nth }) => world.call("PUT", `/v1/machines/new-${nth}`, 201, FULL_ORDER, token),
  },
  {
    name: "cpu: renew",
    act: ({ world, token, nth }) => world.call("POST", `/v1/machines/m-${nth}/renew`, 200, { ttl: "9h" }, token),
  },
  {
    name: "cpu: DELETE",
    act: ({ world, token, nth }) => world.call("DELETE", `/v1/machines/m-${nth}`, 200, undefined, token),
  },
  { name: "cpu: idle tick", act: ({ world }) => world.tick(Date.now()) },
  {
    name: "cpu: tick with 30 due",
    given: async ({ world, provider, nth }) => {
      await endDue(world);
      await seedMachines(world, provider, AT_ONCE, { ...DUE, prefix: `due-${nth}` });
    },
    act: ({ world, provider }) => asking(provider, 10, () => world.tick(Date.now())),
  },
  {
    name: "cpu: tick of 30 proofs",
    given: async ({ world, nth }) => {
      await endDue(world);
      await seedMachines(world, null, AT_ONCE, { ...DUE, prefix: `gone-${nth}`, areGone: true });
    },
    act: async ({ world }) => {
      await world.tick(Date.now());
      const left = await world.db.prepare("SELECT count(*) AS n FROM machines WHERE phase = 'destroying'").first("n");
      if (left !== 0) throw new Error(`a tick was to prove ${AT_ONCE} machines gone, and left ${String(left)}`);
    },
  },
  {
    name: "cpu: inventory slice of 1,000",
    machines: 1000,
    // The first begins a pass, the second goes on with it.
    given: async ({ world, isFirst }) => {
      if (isFirst) await world.db.prepare("UPDATE locks SET reconcile = '{}'").run();
    },
    act: ({ world, provider, isFirst }) => asking(provider, 2, () => world.tick(Date.now() + (isFirst ? 0 : MINUTE))),
  },
  {
    name: "cpu: hourly look at 100 resources",
    given: async (scene) => {
      if (scene.nth === 0) await makeResources(scene, RESOURCES / 2);
      await scene.world.db.prepare("UPDATE locks SET resources_listed_at = 0").run();
    },
    act: ({ world, provider }) => asking(provider, 4, () => world.tick(Date.now())),
  },
  {
    name: "cpu: hourly catalogue",
    given: ({ world }) =>
      world.db.batch(
        ["UPDATE locks SET catalogue_asked_at = 0", "UPDATE catalogues SET fetched_at = 0"].map((text) =>
          world.db.prepare(text),
        ),
      ),
    act: ({ world, provider }) => asking(provider, 2, () => world.tick(Date.now())),
  },
  {
    name: "cpu: tick that forgets",
    given: async ({ world, nth }) => {
      if (nth === 0) await seedPast(world, OLD);
      const old = [
        "UPDATE machines SET destroyed_at = 1, booked_at = 1, expires_at = 1, max_until = 1 WHERE destroyed_at IS NOT NULL",
        "UPDATE events SET at = 1 WHERE uid NOT IN (SELECT uid FROM machines WHERE destroyed_at IS NULL)",
        "UPDATE locks SET forgotten_at = 0",
      ];
      await world.db.batch(old.map((text) => world.db.prepare(text)));
    },
    act: async ({ world }) => {
      const left = () => world.db.prepare("SELECT count(*) AS n FROM machines").first<number>("n");
      const before = await left();
      await world.tick(Date.now());
      const gone = (before ?? 0) - ((await left()) ?? 0);
      if (gone < LEAST_FORGOTTEN)
        throw new Error(`a tick was to forget ${LEAST_FORGOTTEN} machines, and forgot ${gone}`);
    },
  },
  {
    name: "cpu: webhook intake",
    settings: HOOK_SETTINGS,
    act: ({ world, provider, nth }) => takeIn(world, provider, nth),
  },
  {
    name: "cpu: /openapi.json",
    act: ({ world }) => world.call("GET", "/openapi.json", 200, undefined, null),
  },
];

/** So many firewalls and networks that are in use, with the tick that follows their making. */
async function makeResources({ world, token }: Scene, count: number): Promise<void> {
  const rules = [{ direction: "in", protocol: "tcp", port: "22" }];
  for (let number = 0; number < count; number++) {
    await world.call("POST", "/v1/firewalls", 201, { name: `web-${number}`, rules, ttl: "8h" }, token);
    const network = { name: `lab-${number}`, ip_range: `10.${number}.0.0/16`, region: "fsn1", ttl: "8h" };
    await world.call("POST", "/v1/networks", 201, network, token);
  }
}

/** Throws where the provider was asked less often than the work that is meant would: then something else was measured. */
async function asking(provider: Provider, least: number, act: () => Promise<unknown>): Promise<void> {
  const before = (await provider.requests()).length;
  await act();
  const asked = (await provider.requests()).length - before;
  if (asked < least)
    throw new Error(`the provider was asked ${asked} times, and not ${least}: this tick had less to do`);
}

/** A signed event, and the create that goes on behind its answer. */
async function takeIn(world: World, provider: Provider, number: number): Promise<void> {
  const made = async () => (await provider.requests()).filter(({ method }) => method === "POST").length;
  const before = await made();
  const answer = await fetch(`${world.url}/v1/hooks/bench`, { method: "POST", ...deliveryOf(number + 1) });
  if (answer.status !== 202) throw new Error(`the event was answered ${answer.status}: ${await answer.text()}`);
  await answer.text();
  for (let look = 0; look < 200 && (await made()) === before; look++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if ((await made()) === before) throw new Error("the event made no machine");
}
