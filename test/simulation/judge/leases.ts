/**
 * The judge's own books of leases: what was asked for, by whom and when, and which ends each machine may therefore have. What mayfly says,
 * in an answer or on a label, is held against them; only then does it decide which of the possible ends it is.
 */
import { LABEL, uidIn } from "../../../src/machine/labels.ts";
import { labelTime } from "../../../src/machine/age.ts";
import type { Rules } from "../kinds/kind.ts";
import {
  after,
  endsAt,
  exactly,
  GRAIN_MS,
  holds,
  mayAlsoEnd,
  mayEndAt,
  within,
  type Call,
  type End,
  type Life,
  type Span,
} from "./life.ts";
import { MINUTE } from "../world/settings.ts";

/** What is adopted lives at least so long from then on. */
const LEAST_ADOPTED_MS = 15 * MINUTE;
/** As far as a sweep's time is from ours. */
const OFF_MS = 4 * MINUTE;

/** A create as it was asked for; milliseconds. */
export interface Create extends Call {
  readonly ttl: number;
  readonly keep: number | null;
  /** The longest life that it may come to. */
  readonly most: number;
  /** What is done about it is done by a sweep too, whose time may be off. */
  readonly isEvent: boolean;
}

/** When it ends, and until when that may be moved at most. */
interface Told {
  readonly end: number;
  readonly max: number;
}

export interface Whose {
  readonly owner: string;
  readonly name: string;
}
export const keyOf = ({ owner, name }: Whose): string => `${owner}/${name}`;

/** In place of a name that mayfly makes. No name has such a sign. */
export const MADE = "*";

export type Labels = Readonly<Record<string, string>>;
const endIn = (labels: Labels): number => labelTime({ ...labels }, LABEL.expires) ?? 0;

export type Leases = ReturnType<typeof openLeases>;

export function openLeases(
  clock: { readonly now: number },
  rules: Pick<Rules, "maxAge">,
  broken: (what: string) => void,
) {
  const creates = new Map<string, Create[]>();
  const lives = new Map<string, Life>();
  /** By (owner, name): who asked for its end, and which other ends were asked for. */
  const words = new Map<string, Call[]>();
  const moves = new Map<string, End[]>();
  const now = () => clock.now;

  /** One that has two ids by now is one. */
  const all = (): Life[] => [...new Set(lives.values())];
  const byKey = (key: string): Life[] => all().filter((one) => keyOf(one) === key);
  const endOf = (create: Create) => after(create, create.ttl, now, create.isEvent ? OFF_MS : 0);
  const maxOf = (create: Create) => after(create, create.most, now, create.isEvent ? OFF_MS : 0);

  /** The creates that may have asked for it: also those that left its name to mayfly. */
  const createsOf = ({ owner, name }: Whose): readonly Create[] => [
    ...(creates.get(keyOf({ owner, name })) ?? []),
    ...(name.startsWith("m-") ? (creates.get(keyOf({ owner, name: MADE })) ?? []) : []),
  ];

  /** A machine that was not known: which creates may have begun it, by the end and the latest end that are told of it. Else what is wrong. */
  function begin(uid: string, whose: Whose, told: Told, grain: number): string | null {
    const key = keyOf(whose);
    const asked = createsOf(whose);
    const begun = asked.filter((one) => holds(endOf(one).span(), told.end, grain));
    const isMoved = (moves.get(key) ?? []).some(({ span }) => holds(span(), told.end, grain));
    const origin = isMoved ? asked : begun;
    const ofMax = asked.filter((one) => holds(maxOf(one).span(), told.max, grain));
    if (origin.length === 0) return `tells an end of ${key} that nobody asked for: ${time(told.end)}`;
    if (ofMax.length === 0) return `tells that ${key} may live until ${time(told.max)}`;
    const said = (words.get(key) ?? []).filter((word) => origin.some((one) => one.from <= (word.to ?? clock.now)));
    lives.set(uid, {
      uid,
      ...whose,
      origin,
      // What asked for another end before, and is under way, may come still.
      ends: [within(told.end, grain), ...(moves.get(key) ?? []).filter(({ isOpen }) => isOpen())],
      past: [],
      maxes: [within(told.max, grain)],
      word: said.length === 0 ? null : { at: clock.now, isSure: false },
      byHand: null,
      doubtedAt: null,
      isTold: grain === 0,
    });
    return null;
  }

  return {
    of: (uid: string): Life | undefined => lives.get(uid),
    all,
    byKey,
    /** Whether an answer has told of it, and its row has been there since. */
    isKnown(uid: string): boolean {
      const life = lives.get(uid);
      return life !== undefined && life.isTold && life.doubtedAt === null;
    },

    /** Somebody asks for a machine, from now on until the call's `to` is set. */
    create(
      whose: Whose,
      { ttl, keep, longest, isEvent }: { ttl: number; keep: number | null; longest: number | null; isEvent: boolean },
    ): Create {
      const one: Create = {
        from: clock.now,
        to: null,
        ttl,
        keep,
        most: Math.min(longest ?? Infinity, rules.maxAge),
        isEvent,
      };
      const key = keyOf(whose);
      creates.set(key, [...(creates.get(key) ?? []), one]);
      // Where the row is in doubt it may be a new one, with this end.
      for (const life of byKey(key)) {
        if (life.doubtedAt === null) continue;
        mayAlsoEnd(life, endOf(one));
        life.maxes = [...life.maxes, maxOf(one)];
      }
      return one;
    },

    /** Somebody asks for another end of whatever has that name. */
    move(whose: Whose, end: End): void {
      const key = keyOf(whose);
      moves.set(key, [...(moves.get(key) ?? []), end]);
      for (const life of byKey(key)) mayAlsoEnd(life, end);
    },
    /** It was refused. */
    drop(whose: Whose, gone: End): void {
      const key = keyOf(whose);
      moves.set(
        key,
        (moves.get(key) ?? []).filter((end) => end !== gone),
      );
      for (const life of byKey(key)) life.ends = life.ends.filter((end) => end !== gone);
    },
    /** For how long each create under that name would have it kept. */
    keeps: (whose: Whose): readonly number[] => createsOf(whose).flatMap(({ keep }) => keep ?? []),

    /** Somebody asks for the end of whatever has that name. */
    word(whose: Whose): Call {
      const call: Call = { from: clock.now, to: null };
      const key = keyOf(whose);
      words.set(key, [...(words.get(key) ?? []), call]);
      for (const life of byKey(key)) life.word ??= { at: clock.now, isSure: false };
      return call;
    },

    /** That was no word against its life. */
    unsaid(whose: Whose, call: Call): void {
      const key = keyOf(whose);
      words.set(
        key,
        (words.get(key) ?? []).filter((one) => one !== call),
      );
    },

    /** The provider is asked to make a machine with these labels. */
    posted(labels: Labels): void {
      const uid = uidIn({ ...labels });
      const told = { end: endIn(labels), max: labelTime({ ...labels }, LABEL.max) ?? 0 };
      const whose = { owner: labels[LABEL.owner] ?? "", name: labels[LABEL.name] ?? "" };
      const known = lives.get(uid);
      if (known === undefined) {
        const wrong = begin(uid, whose, told, GRAIN_MS);
        if (wrong !== null) broken(`I4: a create at the provider ${wrong}`);
        return;
      }
      if (keyOf(known) !== keyOf(whose)) broken(`I5: ${uid} is made as ${keyOf(whose)}, and was ${keyOf(known)}`);
      else if (!mayEndAt(known, told.end, { orEver: true, grain: GRAIN_MS }))
        broken(`I4: a create at the provider tells an end of ${keyOf(known)} that nobody asked for: ${time(told.end)}`);
    },

    /** mayfly has written these labels to a machine that had others. */
    relabelled(before: Labels, labels: Labels): void {
      const life = lives.get(uidIn({ ...before }));
      if (life === undefined) return;
      const end = endIn(labels);
      if (end !== endIn(before) && !mayEndAt(life, end, { orEver: true, grain: GRAIN_MS }))
        broken(`I4: a label of ${keyOf(life)} tells an end that nobody asked for: ${time(end)}`);
      for (const label of [LABEL.owner, LABEL.name, LABEL.uid, LABEL.max])
        if (labels[label] !== before[label]) broken(`I5: ${label} of ${keyOf(life)} was changed`);
      life.byHand = null;
    },

    /** A machine of which an answer tells. `isAlone`: nothing else was under way, so that it tells what is. */
    told(uid: string, whose: Whose, { end, max }: Told, isAlone: boolean, what: string): void {
      const wrong = lives.has(uid) ? null : begin(uid, whose, { end, max }, 0);
      // A machine that was found again may have an id of its own.
      const known = lives.get(uid) ?? byKey(keyOf(whose)).find((one) => one.doubtedAt !== null);
      if (known === undefined) return broken(`I4: ${what} ${wrong}`);
      known.isTold = true;
      lives.set(uid, known);
      const isNamed = known.owner === whose.owner && [known.name, uid].includes(whose.name);
      if (!isNamed) broken(`I5: ${what} tells of ${keyOf(known)} as ${keyOf(whose)}`);
      if (!mayEndAt(known, end, { orEver: !isAlone || known.doubtedAt !== null, grain: 0 })) {
        broken(`I4: ${what} tells an end of ${keyOf(known)} that nobody asked for: ${time(end)}`);
        return;
      }
      if (!known.maxes.some(({ span }) => holds(span(), max)))
        broken(`I4: ${what} tells that ${keyOf(known)} may live until ${time(max)}`);
      if (isAlone) endsAt(known, end);
    },

    /** Whether another machine may have its name: then it gives way, and is called by its uid. */
    mayBeTaken: (life: Life): boolean =>
      byKey(keyOf(life)).length > 1 || (creates.get(keyOf(life)) ?? []).some((one) => !life.origin.includes(one)),

    /** Its row may not be there any more, or be another; `label` is the end that is then gone by. */
    doubt(life: Life, label: number): void {
      const since: Call = { from: clock.now, to: null };
      life.past = [...life.past, ...life.ends.map(({ span }) => span())];
      life.ends = [...life.ends, exactly(label), adoption(life, since, label)];
      life.doubtedAt = clock.now;
      if (life.byHand !== null) life.byHand = { ...life.byHand, isSure: false };
      if (life.word !== null) life.word = { ...life.word, isSure: false };
    },
  };

  /** What is adopted lives on for a while, within what it was promised at most; until then, nobody knows when that is. */
  function adoption(life: Life, since: Call, label: number) {
    const { maxes } = life;
    return {
      span: (): Span => ({
        from: Math.min(
          Math.max(label, since.from + LEAST_ADOPTED_MS - OFF_MS),
          ...maxes.map(({ span }) => span().from),
        ),
        to: Math.min(
          Math.max(label, (life.doubtedAt === null ? since.from : clock.now) + LEAST_ADOPTED_MS + OFF_MS),
          Math.max(...maxes.map(({ span }) => span().to)),
        ),
      }),
      isOpen: () => false,
    };
  }
}

const time = (ms: number): string => (Number.isFinite(ms) ? new Date(ms).toISOString() : String(ms));
