/** The end of a history: nothing goes wrong any more, and everything of ours must come to its end and leave nothing behind. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Scene } from "../acts.ts";
import { strike } from "./books.ts";
import { askOnceMore, checkToldCosts } from "../money/money-end.ts";
import { dueAt } from "./late.ts";
import { liveRows } from "./rows.ts";
import type { openPeople } from "../world/people.ts";
import type { Clock } from "../world/provider.ts";
import { sql } from "../../../src/store/db.ts";
import { ADOPTION, HOUR, MINUTE, RECOVERY } from "../world/settings.ts";
import { isProtected, resourcesOf, uidOf, usedIds, usedUids } from "../world/truth.ts";

interface Stage {
  readonly scene: Scene;
  readonly clock: Clock;
  readonly people: ReturnType<typeof openPeople>;
  readonly tick: () => Promise<void>;
  readonly ourServers: () => ServerState[];
  /** Throws what is broken. */
  readonly check: () => void;
}

export async function endQuietly(stage: Stage): Promise<void> {
  const { scene, clock, people, ourServers, check } = stage;
  const { books, database } = scene;
  await minutes(stage, RECOVERY / MINUTE + 3);
  await minutes(stage, ADOPTION / MINUTE);
  await askOnceMore(scene);
  await outlive(stage);
  if (ourServers().some(isProtected)) {
    await people.unprotectAll();
    strike(books, "protection", clock.now);
    await minutes(stage, RECOVERY / MINUTE + 3);
    await outlive(stage);
  }
  // Two looks, each after the longest wait, and a row without its machine is over.
  for (let minute = 0; minute < (2 * RECOVERY) / MINUTE && (await liveRows(database)).size > 0; minute++)
    await minutes(stage, 1);

  await clearUp(stage);
  await checkToldCosts(scene);

  for (const { id } of ourServers()) books.broken.push(`I1: server ${id} of ours is left at the end`);
  for (const [uid, { phase }] of await liveRows(database)) books.broken.push(`row ${uid} is ${phase} for ever`);
  for (const id of people.changed()) books.broken.push(`I2: foreign server ${id} is not what it was`);
  check();
}

/** What lies beside machines goes with them, or at the second hourly look at the latest. */
async function clearUp(stage: Stage): Promise<void> {
  const { scene, clock } = stage;
  const { simulator } = scene.provider;
  const used = (): ReadonlySet<number> => usedIds(simulator.state());
  const left = (): string[] =>
    resourcesOf(simulator.state(), scene.installation).filter((path) => !used().has(Number(path.split("/").at(-1))));
  const open = sql("SELECT uid, phase, provider_id FROM resources WHERE phase IN ('requested', 'active', 'deleting')");
  const rows = async () =>
    (await scene.database.rows(open)).filter(
      ({ uid, provider_id: id }) => !used().has(Number(id)) && !usedUids(simulator.state()).has(String(uid)),
    );
  for (let hour = 0; hour < 4 && (left().length > 0 || (await rows()).length > 0); hour++) {
    await minutes(stage, 5);
    clock.now += HOUR;
    await minutes(stage, 5);
  }
  for (const path of left()) scene.books.broken.push(`${path} of ours is left at the end`);
  for (const { uid, phase } of await rows())
    scene.books.broken.push(`resource ${String(uid)} is ${String(phase)} for ever`);
}

/** Minutes with a tick each. */
async function minutes({ clock, tick, check }: Stage, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) {
    clock.now += MINUTE;
    await tick();
    check();
  }
}

/** From end to end, because between them nothing happens; at each one a few minutes. */
async function outlive(stage: Stage): Promise<void> {
  const { scene, clock, ourServers } = stage;
  for (let round = 0; round < MOST_ENDS; round++) {
    await minutes(stage, 4);
    const rows = await liveRows(scene.database);
    const held = new Set(ourServers().filter(isProtected).map(uidOf));
    const free = ourServers().filter((server) => !isProtected(server));
    const ends = free.map((server) => dueAt(server, scene.judge.leases, scene.kind.rules));
    // What is held is tried for ever.
    for (const { uid, expires_at, next_try_at } of rows.values())
      if (!held.has(uid)) ends.push(expires_at, next_try_at ?? 0);
    const next = Math.min(...ends.filter((end) => end > clock.now));
    if (next === Infinity) return;
    clock.now = next;
  }
  scene.books.broken.push("I1: the ends of a history never end");
}

/** More than any history has. */
const MOST_ENDS = 100;
