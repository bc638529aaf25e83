/** What is known to break a promise, left out of the histories until it is mended: each of these is one bug. */
export const KNOWN = {
  /**
   * A label that was moved later by hand makes expire wait for that end; moved back, the machine still lives until then, though
   * row and label agree that it is over (I1).
   */
  labelMovedBack: true,
};
