/**
 * What is promised of firewalls, networks and keys that have leases of their own, by what their owners were told and asked for: none goes
 * before its end, and none under a machine that uses it.
 */
import * as z from "zod";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Simulator } from "../../simulator/simulator.ts";
import { isOf, labelsOf } from "../world/truth.ts";
import type { Answer } from "../world/installation.ts";
import type { Books } from "./books.ts";
import type { Clock } from "../world/provider.ts";

export type BesideKind = "firewall" | "network" | "ssh_key";
export const PLURAL = { firewall: "firewalls", network: "networks", ssh_key: "ssh_keys" } as const;

/** A lease as its owner knows it. */
interface Lease {
  readonly kind: BesideKind;
  readonly owner: string;
  readonly name: string;
  readonly uid: string;
  /** Of a key its bytes: one may serve several owners. */
  readonly key: string | null;
  /** Unix milliseconds. */
  end: number;
  isAsked: boolean;
}

const told = z.object({
  id: z.string().transform((id) => id.slice(id.indexOf("_") + 1)),
  owner: z.string(),
  name: z.string(),
  status: z.string(),
  expires_at: z.iso.datetime().nullable(),
  public_key: z.string().optional(),
});
const answers = {
  firewall: z.object({ firewall: told }).transform(({ firewall }) => firewall),
  network: z.object({ network: told }).transform(({ network }) => network),
  ssh_key: z.object({ ssh_key: told }).transform(({ ssh_key }) => ssh_key),
};
/** The same bytes without the comment. */
const bytesOf = (publicKey: string): string => publicKey.split(" ").slice(0, 2).join(" ");

export type BesideJudge = ReturnType<typeof judgeBeside>;

export function judgeBeside(simulator: Simulator, books: Books, clock: Clock, installation: string) {
  let leases: Lease[] = [];

  return {
    /** Somebody asks for one, to live so long: what it answers hears how that was answered. */
    make(kind: BesideKind, owner: string, name: string, ttl: number): (answer: Answer | undefined) => void {
      const before = clock.now;
      return (answer) => {
        if (answer === undefined || answer.status >= 300) return;
        const { uid, end, key, isNew } = readAs(kind, answer);
        const known = leases.find((one) => one.uid === uid);
        if (end === null) return;
        const isInTime = end >= before + ttl - GRAIN && end <= clock.now + ttl;
        // A repeat begins a new lease only where the last has ended.
        const isKept = known !== undefined && known.end === end;
        if (isNew && !isInTime)
          books.broken.push(`I4: ${kind} ${name} of ${owner} was promised to ${time(end)}, not ${ttl} ms`);
        if (!isNew && known && !isKept && (known.end > clock.now || !isInTime))
          books.broken.push(
            `I4: a repeat moved the end of ${kind} ${name} of ${owner} from ${time(known.end)} to ${time(end)}`,
          );
        leases = leases.filter((one) => one.uid !== uid);
        leases.push({ kind, owner, name, uid, key, end, isAsked: false });
      };
    },
    /** Its owner asks for its end; without a kind, for that of all. */
    unmake(owner: string, which: { readonly kind: BesideKind; readonly name: string } | "all"): void {
      for (const one of leases)
        if (one.owner === owner && (which === "all" || (one.kind === which.kind && one.name === which.name)))
          one.isAsked = true;
    },
    /** Those that live, as far as their owners know. */
    known: (kind: BesideKind): readonly Pick<Lease, "owner" | "name">[] =>
      leases.filter((one) => one.kind === kind && !one.isAsked && one.end > clock.now),
    /** Nobody but the labels knows any lease. */
    databaseChanged(): void {
      leases = [];
    },
    /** Looks at a call before it takes effect. */
    watch({ method, url }: Pick<Request, "method" | "url">): void {
      if (method === "GET") return;
      const { pathname } = new URL(url);
      const [, plural, id] = /^\/v1\/(firewalls|networks|ssh_keys)\/(\d+)/.exec(pathname) ?? [];
      if (plural !== "firewalls" && plural !== "networks" && plural !== "ssh_keys") return;
      const state = simulator.state();
      const one = state[plural].find((each) => each.id === Number(id));
      if (one !== undefined && !isOf(one, installation))
        books.broken.push(`I2: ${method} ${pathname}, which is not ours`);
      if (one === undefined || method !== "DELETE") return;
      const uid = labelsOf(one)[LABEL.uid];
      const key = "public_key" in one ? bytesOf(one.public_key) : null;
      const lease = leases.find(
        (each) =>
          PLURAL[each.kind] === plural &&
          (key === null ? each.uid === uid : each.key === key) &&
          !each.isAsked &&
          each.end > clock.now + clock.ahead + GRAIN,
      );
      if (lease !== undefined)
        books.broken.push(`I4: ${pathname}, ${lease.name} of ${lease.owner}, is deleted before ${time(lease.end)}`);
      const users = "ip_range" in one ? one.servers : [];
      if (users.length > 0) books.broken.push(`I4: ${pathname} is deleted under server ${users.join(", ")}`);
    },
  };
}

/** Clocks of two readers. */
const GRAIN = 1000;

function readAs(kind: BesideKind, { status, text }: Answer) {
  const { id, expires_at, public_key } = answers[kind].parse(JSON.parse(text));
  return {
    uid: id,
    end: expires_at === null ? null : Date.parse(expires_at),
    key: public_key === undefined ? null : bytesOf(public_key),
    isNew: status === 201,
  };
}

const time = (ms: number): string => new Date(ms).toISOString().slice(11, 19);
