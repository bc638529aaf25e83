const two = (number: number): string => (number < 10 ? `0${number}` : String(number));
const three = (number: number): string => (number < 100 ? `0${two(number)}` : String(number));

/** Unix milliseconds as answers tell them: RFC 3339, UTC. Put together from its parts, in half the time of `toISOString`. */
export function timeOf(ms: number): string {
  const at = new Date(ms);
  const year = at.getUTCFullYear();
  if (!(year >= 1000 && year <= 9999)) return at.toISOString();
  const day = `${year}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return `${day}T${time}.${three(at.getUTCMilliseconds())}Z`;
}

/** Null for a moment that is not known, or did not come. */
export const timeOrNull = (ms: number | null): string | null => (ms === null ? null : timeOf(ms));
