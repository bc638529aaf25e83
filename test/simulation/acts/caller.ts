/** What callers of all kinds ask for: by names and ids, waiting and hanging up, with tokens that end. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Ask } from "../judge/judge.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import { LIVES } from "../history.ts";
import type { CallerAct, Ref } from "./caller-acts.ts";
import type { Scene } from "../acts.ts";
import { meet } from "../tally.ts";
import { LONGEST, type Caller } from "../world/callers.ts";
import type { Books } from "../judge/books.ts";
import type { Known } from "../judge/isolation.ts";
import { HANG_UP, type Circumstances } from "../world/invocation.ts";
import { MINUTE } from "../world/settings.ts";
import { SPECS } from "../world/specs.ts";
import { labelsOf } from "../world/truth.ts";
import { turnsIn } from "../world/turns.ts";
import { call } from "./call.ts";
import { saysOfAll } from "./words.ts";

/** Those of `specs.ts`, and one that a tight policy lets pass. */
const ORDERS = [...SPECS, { server_type: "cx23", region: "fsn1", firewalls: [{ deny_all: true, rules: [] }] }] as const;
/** What policies forbid, by the number of the order. */
const FORBIDDEN: Partial<Record<Caller, readonly number[]>> = {
  "tok.eve": [0, 1],
  "gl.e7be96a5.20.forge": [2, 3],
};

/** The admin names whom it acts for. */
const own = (who: Caller | "admin", path: string): string =>
  who === "tok.ann" ? `${path}${path.includes("?") ? "&" : "?"}owner=tok.ann` : path;

/** What a ref means to this caller, and whether it is another's. */
function meant(
  { isolation }: Scene,
  who: Caller | "admin",
  ref: Ref,
): { path: string; machine: Known | null; isAnothers: boolean } {
  if (ref.by === "name") return { path: ref.name, machine: { uid: "", owner: who, name: ref.name }, isAnothers: false };
  const known = isolation.known().filter(({ owner }) => who === "admin" || (owner === who) === ref.isOwn);
  const machine = known[ref.which % Math.max(1, known.length)];
  if (machine === undefined) return { path: NOBODYS, machine: null, isAnothers: false };
  return { path: `mch_${machine.uid}`, machine, isAnothers: who !== "admin" && machine.owner !== who };
}
const NOBODYS = "mch_99999999-0000-4000-8000-000000000009";

/** Lets somebody do it, whatever becomes of it. */
export async function performCaller(scene: Scene, act: CallerAct, given: Circumstances): Promise<void> {
  const { books, isolation, callers, clock } = scene;
  const circumstances = { turn: turnsIn(1), ...given };
  const ask = async (method: string, path: string, body?: unknown, about?: Ask) => {
    const request = {
      who: act.who,
      method,
      path: own(act.who, path),
      body,
      ...(about === undefined ? {} : { ask: about }),
    };
    const answer = await call(scene, circumstances, request);
    if (answer !== undefined && act.who !== "admin") isolation.check(act.who, answer, `${method} ${path}`);
    return answer;
  };
  /** By what a ref means: another's is not there, and stays as it is. */
  const askOf = async (ref: Ref, method: string, more: string, body: unknown, about: (machine: Known) => Ask) => {
    const { path, machine, isAnothers } = meant(scene, act.who, ref);
    const judge =
      isAnothers && machine !== null && given.turn === undefined ? await isolation.untouched(machine.uid) : null;
    const means = machine === null || isAnothers ? undefined : about(machine);
    const answer = await ask(method, `/v1/machines/${path}${more}`, body, means);
    await judge?.(answer, `${method} of another's machine by ${act.who}`);
    if (isAnothers) meet(books.met, "act on another's");
    return answer;
  };
  meet(books.met, `act ${act.do}`);
  switch (act.do) {
    case "order": {
      const { who, name, spec, ttl, wait } = act;
      const { keep_on_failure: keep } = { keep_on_failure: null, ...ORDERS[spec] };
      const hears = isolation.orders(who, name, String(spec));
      const about = {
        do: "create",
        owner: who,
        name,
        ttl: LIVES[ttl],
        keep: keep === null ? null : LIVES[keep],
        longest: LONGEST[who],
      } as const;
      const query = wait === 0 ? "" : `?wait=${wait}`;
      const path = name === null ? `/v1/machines${query}` : `/v1/machines/${name}${query}`;
      const faults = faultsIn(books);
      const answer = await ask(name === null ? "POST" : "PUT", path, { ...ORDERS[spec], ttl }, about);
      hears(answer);
      const hasHungUp = given.mishap?.what === HANG_UP && given.turn === undefined && answer === undefined;
      if (hasHungUp && name !== null && faultsIn(books) === faults) await isolation.finished(who, name);
      if (FORBIDDEN[who]?.includes(spec) === true && answer !== undefined && answer.status < 300)
        books.broken.push(`policy: ${who} was given what its policy forbids`);
      return;
    }
    case "look":
      await askOf(act.ref, "GET", act.wait === 0 ? "" : `?wait=${act.wait}`, undefined, () => ({ do: "read" }));
      return;
    case "browse":
      await ask("GET", act.what);
      return;
    case "extend":
      await askOf(act.ref, "POST", "/renew", { ttl: act.ttl }, ({ owner, name }) => ({
        do: "renew",
        owner,
        name,
        ttl: LIVES[act.ttl],
      }));
      return;
    case "end": {
      const { ref, isFailed, tombstone } = act;
      const words = [
        ...(isFailed ? ["outcome=failure"] : []),
        ...(tombstone === null ? [] : [`tombstone=${tombstone}`]),
      ];
      const asked = clock.now;
      const answer = await askOf(
        ref,
        "DELETE",
        words.length === 0 ? "" : `?${words.join("&")}`,
        undefined,
        ({ owner, name }) => ({
          do: "destroy",
          owner,
          name,
          isFailed,
        }),
      );
      if (tombstone !== null && ref.by === "name" && act.who !== "admin" && answer !== undefined && answer.status < 300)
        isolation.forbids(act.who, ref.name, asked + 10 * MINUTE);
      return;
    }
    case "pretend": {
      const { who, as } = act;
      const answer = await call(scene, circumstances, { who, method: "GET", path: `/v1/machines?owner=${as}` });
      const mayAsk = who === as || who === "tok.ann";
      if (!mayAsk && answer !== undefined && answer.status < 400)
        books.broken.push(`I9: ${who} was shown what ${as} has by saying that it is ${as}`);
      return;
    }
    case "revoke": {
      const id = callers.tokenIdOf(act.who);
      if (id === undefined) return;
      const which = (server: ServerState) => labelsOf(server)[LABEL.owner] === act.who;
      const path = `/v1/tokens/${id}${act.isAll ? "?destroy=true" : ""}`;
      const about: Ask = act.isAll ? { do: "destroy_all", which } : { do: "read" };
      const over = act.isAll ? saysOfAll(scene, act.who) : null;
      const answer = await call(scene, circumstances, { who: "admin", method: "DELETE", path, ask: about });
      over?.();
      if (answer !== undefined && answer.status < 300) callers.end(act.who, clock.now);
    }
  }
}

/** How often anything but a caller who hung up has struck. */
const faultsIn = ({ strikes }: Books): number =>
  [...strikes].reduce((sum, [what, times]) => sum + (what === HANG_UP ? 0 : times), 0);
