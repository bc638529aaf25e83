/** What can be asked of one mayfly beside single machines: what machines use, all of what somebody has, and what an admin may do. */
import type { Books } from "../judge/books.ts";
import type { Ask } from "../judge/judge.ts";
import { KEY_A } from "../../simulator/sample-keys.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import type { ServerState } from "../../simulator/simulator.ts";
import { meet } from "../tally.ts";
import { PLURAL } from "../judge/beside.ts";
import { LIVES } from "../history.ts";
import { BESIDE_NAMES, SELECTORS, type OperatorAct } from "./operator-acts.ts";
import type { Scene } from "../acts.ts";
import type { Answer } from "../world/installation.ts";
import { LONGEST, OWNERS, type Owner } from "../world/callers.ts";
import type { Circumstances } from "../world/invocation.ts";
import { KNOWN_KEY } from "../world/strangers.ts";
import { isOf, labelsOf } from "../world/truth.ts";
import { turnsIn } from "../world/turns.ts";
import { call } from "./call.ts";
import { changesNothing } from "./dry.ts";
import { saysOfAll } from "./words.ts";

const WHAT = {
  firewall: { rules: [{ direction: "in", protocol: "tcp", port: "22" }] },
  network: { ip_range: "10.1.0.0/16", region: "fsn1" },
} as const;
/** `y` is one that stood in the project before. */
const KEYS = { x: KEY_A, y: KNOWN_KEY } as const;

const of = ({ owner }: { readonly owner: string }): string => `?owner=${owner}`;
const isOwners =
  (owner: string) =>
  (server: ServerState): boolean =>
    labelsOf(server)[LABEL.owner] === owner;

/** Whoever would put something on a machine has both, if anybody has. */
function aimed(act: OperatorAct, { beside, provider, installation }: Scene): OperatorAct {
  if (act.do !== "apply" && act.do !== "take_off" && act.do !== "attach" && act.do !== "route") return act;
  const known = beside.known(act.do === "apply" || act.do === "take_off" ? "firewall" : "network");
  const machines = provider.simulator.state().servers.filter((server) => isOf(server, installation));
  for (const { owner, name } of known) {
    const whose = OWNERS.find((one) => one === owner);
    const its = BESIDE_NAMES.find((one) => one === name);
    const machine = machines.map(labelsOf).find((labels) => labels[LABEL.owner] === owner)?.[LABEL.name];
    if (whose === undefined || its === undefined) continue;
    if (act.do === "route") return { ...act, owner: whose, name: its };
    if (machine !== undefined) return { ...act, owner: whose, name: its, machine };
  }
  return act;
}

/** Lets somebody do it, whatever becomes of it. */
export async function performOperator(scene: Scene, wanted: OperatorAct, given: Circumstances): Promise<void> {
  const act = aimed(wanted, scene);
  // Where several calls are under way at once, they go on in an order that the history says.
  const circumstances = { turn: turnsIn("order" in act ? act.order : 1), ...given };
  meet(scene.books.met, `act ${"isDry" in act && act.isDry ? "dry " : ""}${act.do}`);
  const ask = (who: Owner | "admin", method: string, path: string, body?: unknown, about?: Ask) =>
    call(scene, circumstances, { who, method, path, body, ...(about === undefined ? {} : { ask: about }) });
  const boxed = boxedIn(scene);
  switch (act.do) {
    case "box": {
      const body = {
        server_type: "cx23",
        region: "fsn1",
        ttl: act.ttl,
        labels: { run: act.run },
        ...usesOf(scene, act),
      };
      boxed.add(`${act.owner}/${act.name}`);
      const about = {
        do: "create",
        owner: act.owner,
        name: act.name,
        ttl: LIVES[act.ttl],
        keep: null,
        longest: LONGEST[act.owner],
      } as const;
      await ask(act.owner, "PUT", `/v1/machines/${act.name}${of(act)}`, body, about);
      return;
    }
    case "make": {
      const { kind, name, ttl } = act;
      const hears = scene.beside.make(kind, act.owner, name, LIVES[ttl]);
      const what = kind === "ssh_key" ? { public_key: `${KEYS[name]} somebody@somewhere` } : WHAT[kind];
      hears(await ask(act.owner, "POST", `/v1/${PLURAL[kind]}${of(act)}`, { name, ttl, ...what }));
      return;
    }
    case "unmake":
      scene.beside.unmake(act.owner, act);
      await ask(act.owner, "DELETE", `/v1/${PLURAL[act.kind]}/${act.name}${of(act)}`);
      return;
    case "apply":
    case "take_off": {
      const action = act.do === "apply" ? "apply_to_resources" : "remove_from_resources";
      await ask(act.owner, "POST", `/v1/firewalls/${act.name}/${action}${of(act)}`, { machines: [act.machine] });
      return;
    }
    case "attach":
      await ask(act.owner, "POST", `/v1/machines/${act.machine}/attach_to_network${of(act)}`, { network: act.name });
      return;
    case "route": {
      const body = { destination: "0.0.0.0/0", gateway: act.gateway };
      await ask(act.owner, "POST", `/v1/networks/${act.name}/add_route${of(act)}`, body);
      return;
    }
    case "teardown": {
      const path = `/v1/teardown${of(act)}`;
      if (act.isDry) return dry(scene, given, () => ask(act.owner, "POST", path, { dry_run: true }));
      scene.beside.unmake(act.owner, "all");
      const over = saysOfAll(scene, act.owner);
      await ask(act.owner, "POST", path, {}, { do: "destroy_all", which: isOwners(act.owner) });
      return over();
    }
    case "bulk": {
      const means = SELECTORS[act.selector];
      const path = `/v1/machines${of(act)}&label_selector=${encodeURIComponent(act.selector)}`;
      if (act.isDry) return dry(scene, given, () => ask(act.owner, "DELETE", `${path}&dry_run=true`));
      const which = (server: ServerState) => isOwners(act.owner)(server) && means?.(labelsOf(server)["run"]) === true;
      const over = means === null ? null : saysOfAll(scene, act.owner, (name) => boxed.has(`${act.owner}/${name}`));
      const answer = await ask(act.owner, "DELETE", path, undefined, { do: "destroy_all", which });
      over?.();
      if (means === null && answer !== undefined && answer.status < 300)
        scene.books.broken.push(`I4: ${act.selector}, which names nothing that a machine has, was taken for a word`);
      return;
    }
    case "sweep":
      if (act.isDry) return dry(scene, given, () => ask("admin", "POST", "/v1/sweeps", { dry_run: true }));
      await ask("admin", "POST", "/v1/sweeps", {});
      return;
    case "release":
      await ask("admin", "POST", `/v1/holds/${act.hold}/release`);
  }
}

const namesOfBoxes = new WeakMap<Books, Set<string>>();
/** Owners and names of all that may have a label which selects them. */
function boxedIn({ books }: Scene): Set<string> {
  const known = namesOfBoxes.get(books) ?? new Set();
  namesOfBoxes.set(books, known);
  return known;
}

/** What one uses, by the names of what its owner has already. */
const usesOf = ({ beside }: Scene, { owner, uses }: Extract<OperatorAct, { do: "box" }>) =>
  Object.fromEntries(
    uses.flatMap((kind) => {
      const known = beside.known(kind).find((one) => one.owner === owner);
      return known === undefined ? [] : [[PLURAL[kind], [known.name]]];
    }),
  );

/** Alone, a dry run changes nothing; what goes on beside it does. */
async function dry(scene: Scene, { turn }: Circumstances, act: () => Promise<Answer | undefined>): Promise<void> {
  const check = turn === undefined ? await changesNothing(scene) : undefined;
  const answer = await act();
  await check?.(answer);
}
