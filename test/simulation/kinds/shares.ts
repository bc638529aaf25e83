/** How many of a run of all kinds are of which: what is dear to play has few. Of no Worker's, so that the command reads it too. */
export const SHARES = { small: 1200, crowd: 50, calendar: 150, operator: 300, caller: 300 } as const;

export type KindName = keyof typeof SHARES;

export const isKind = (word: string): word is KindName => Object.hasOwn(SHARES, word);
