/** One machine as its owner may go by it: which ends it may have by what was asked for, and whether its owner has ended it. */

/** From when to when, both included; unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A call from its begin to its end; `to` is null while it is under way. */
export interface Call {
  readonly from: number;
  to: number | null;
}

/** An end that a machine may have. `isOpen`: what asks for it is under way, so that it may still come. */
export interface End {
  readonly span: () => Span;
  readonly isOpen: () => boolean;
}

/** Labels hold whole seconds. */
export const GRAIN_MS = 1000;

export const exactly = (at: number): End => ({ span: () => ({ from: at, to: at }), isOpen: () => false });

/** At that time, of which only whole units of `grain` are told. */
export const within = (at: number, grain: number): End => ({
  span: () => ({ from: at, to: at + Math.max(0, grain - 1) }),
  isOpen: () => false,
});

/** So long after something that is done while a call is under way. */
export const after = (call: Call, length: number, now: () => number, slack = 0): End => ({
  span: () => ({ from: call.from + length - slack, to: (call.to ?? now()) + length + slack }),
  isOpen: () => call.to === null,
});

export const holds = ({ from, to }: Span, at: number, grain = 0): boolean => at >= from - grain && at <= to;

export interface Life {
  /** As the label tells it, or the first answer about it. */
  readonly uid: string;
  readonly owner: string;
  readonly name: string;
  /** The creates that may have begun it. */
  readonly origin: readonly Call[];
  /** Those that are possible by now. */
  ends: readonly End[];
  /** Those that ever were. */
  past: readonly Span[];
  /** Until when it may be renewed. */
  maxes: readonly End[];
  /** Since when its owner's word may have ended it, and whether that was answered. */
  word: { readonly at: number; readonly isSure: boolean } | null;
  /** The later end that a person wrote on its label, and whether its row is sure to learn it; null = none. */
  byHand: { readonly at: number; readonly isSure: boolean } | null;
  /** Since when its row may not be there, or not be what it was; null = it is. */
  doubtedAt: number | null;
  /** Whether any answer has told of it. */
  isTold: boolean;
}

/** The earliest end that it may have. */
export const leastOf = ({ ends, byHand }: Life): number =>
  Math.max(Math.min(...ends.map(({ span }) => span().from)), byHand?.isSure ? byHand.at : 0);

/** The latest. */
export const mostOf = ({ ends, byHand, maxes }: Life): number =>
  Math.min(
    Math.max(...ends.map(({ span }) => span().to), byHand?.at ?? 0),
    Math.max(...maxes.map(({ span }) => span().to)),
  );

/** Whether an answer, or a label whose seconds are whole, may tell this end. */
export const mayEndAt = (life: Life, at: number, { orEver, grain }: { orEver: boolean; grain: number }): boolean =>
  life.ends.some(({ span }) => holds(span(), at, grain)) ||
  // A row knows the latest end to the millisecond.
  (life.byHand !== null && holds(within(life.byHand.at, GRAIN_MS).span(), at)) ||
  (orEver && life.past.some((span) => holds(span, at, grain)));

/** One more end that it may have. */
export function mayAlsoEnd(life: Life, end: End): void {
  life.ends = [...life.ends, end];
}

/** It has this end, unless something that is under way gives it another. */
export function endsAt(life: Life, at: number): void {
  life.past = [...life.past, ...life.ends.map(({ span }) => span())];
  life.ends = [exactly(at), ...life.ends.filter(({ isOpen }) => isOpen())];
  life.doubtedAt = null;
}
