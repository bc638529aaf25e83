/** I9: nobody ever sees what another owner has, or changes it; and what was asked for under a name is what is answered for it. */
import * as z from "zod";
import { LABEL } from "../../../src/machine/labels.ts";
import { sql } from "../../../src/store/db.ts";
import type { Simulator } from "../../simulator/simulator.ts";
import { CALLERS, type Caller } from "../world/callers.ts";
import type { Database } from "../world/database.ts";
import type { Answer } from "../world/installation.ts";
import type { Clock } from "../world/provider.ts";
import { labelsOf, uidOf } from "../world/truth.ts";
import type { Books } from "./books.ts";

/** A machine as whoever asked for it knows it. */
export interface Known {
  readonly uid: string;
  readonly owner: string;
  readonly name: string;
}

const ID = /mch_([0-9a-f-]{36})/g;
const made = z.object({ machine: z.object({ id: z.string(), owner: z.string(), name: z.string() }) });

/** Who counts together, and so is told of each other where a limit is met. */
const accountOf = (owner: string): string => (owner.startsWith("gh.") ? owner.split(".").slice(0, 2).join(".") : owner);

export type Isolation = ReturnType<typeof judgeIsolation>;

export function judgeIsolation(simulator: Simulator, database: Database, books: Books, clock: Clock) {
  const known: Known[] = [];
  /** What each was made as, by its uid. */
  const specs = new Map<string, string>();
  /** Until when a name is forbidden, by owner and name; unix milliseconds. */
  const forbidden = new Map<string, number>();
  const ownerOf = (uid: string): string | undefined =>
    known.find((one) => one.uid === uid)?.owner ??
    simulator
      .state()
      .servers.filter((server) => uidOf(server) === uid)
      .map((server) => labelsOf(server)[LABEL.owner])[0];

  return {
    known: (): readonly Known[] => known,
    /** Everything that `who` is shown is its own. */
    check(who: Caller, { text }: Answer, what: string): void {
      for (const [, uid = ""] of text.matchAll(ID)) {
        const owner = ownerOf(uid);
        if (owner !== undefined && owner !== who)
          books.broken.push(`I9: ${what} tells ${who} of ${uid}, which is ${owner}'s`);
      }
      for (const other of CALLERS)
        if (accountOf(other) !== accountOf(who) && text.includes(`"${other}"`))
          books.broken.push(`I9: ${what} tells ${who} of ${other}`);
    },
    /** Somebody asks for one of that spec: what it answers hears the answer. A name that is forbidden makes nothing. */
    orders(who: Caller, name: string | null, spec: string): (answer: Answer | undefined) => void {
      const isForbidden = name !== null && (forbidden.get(`${who} ${name}`) ?? 0) > clock.now + SLOW;
      return (answer) => {
        if (answer === undefined || answer.status >= 300) return;
        const { machine } = made.parse(JSON.parse(answer.text));
        const uid = machine.id.slice("mch_".length);
        if (machine.owner !== who || (name !== null && machine.name !== name))
          books.broken.push(
            `I9: ${who} asked for ${name ?? "one"} and was answered with ${machine.name} of ${machine.owner}`,
          );
        if (isForbidden && answer.status === 201)
          books.broken.push(`I3: ${name} of ${who} was made though it is forbidden`);
        if ((specs.get(uid) ?? spec) !== spec)
          books.broken.push(`I3: ${uid} was answered for another spec than its own`);
        specs.set(uid, spec);
        if (!known.some((one) => one.uid === uid)) known.push({ uid, owner: who, name: machine.name });
      };
    },
    forbids(who: Caller, name: string, until: number): void {
      forbidden.set(`${who} ${name}`, until);
    },
    /** What was made as what, and forbidden, only the database knew. */
    databaseChanged(): void {
      specs.clear();
      forbidden.clear();
    },
    /** Whoever hung up changed nothing: what was begun under a name was finished, and what came of it written down. */
    async finished(who: Caller, name: string): Promise<void> {
      const open = sql(
        `SELECT uid FROM machines WHERE owner = ? AND name = ? AND phase = 'requested' AND provider_id IS NULL AND last_error IS NULL`,
        who,
        name,
      );
      for (const { uid } of await database.rows(open))
        books.broken.push(`hang-up: ${String(uid)} was begun, and was not finished when its caller hung up`);
    },
    /** To be called before somebody uses another's machine by its id: what it answers is told the answer, and finds nothing changed. */
    async untouched(uid: string): Promise<(answer: Answer | undefined, what: string) => Promise<void>> {
      const row = async () => JSON.stringify(await database.rows(sql("SELECT * FROM machines WHERE uid = ?", uid)));
      const before = await row();
      return async (answer, what) => {
        if (answer !== undefined && answer.status < 400)
          books.broken.push(`I9: ${what} was answered with ${answer.status}`);
        if ((await row()) !== before) books.broken.push(`I9: ${what} has changed it`);
      };
    },
  };
}

/** A call may take so long that what is forbidden is not any more. */
const SLOW = 5 * 60_000;
