import { overlapIn } from "../machine/network.ts";
import { invalid, valid, type Checked } from "../machine/validation.ts";

/** A network that a machine is to be in. */
interface Joined {
  /** Where it was named. */
  readonly field: string;
  /** Null of one that is to be made with the machine. */
  readonly uid: string | null;
  readonly ipRange: string;
}

/** Whether a machine can be in all of these at once, as a provider lets it. The same one named twice is one. */
export function checkApart(networks: readonly Joined[]): Checked<void> {
  const isFirst = ({ uid }: Joined, index: number): boolean =>
    uid === null || networks.findIndex((other) => other.uid === uid) === index;
  const each = networks.filter(isFirst);
  const found = overlapIn(each.map(({ ipRange }) => ipRange));
  const [one, before] = found === null ? [] : [each[found.at], each[found.with]];
  if (one === undefined || before === undefined) return valid(undefined);
  const both = `${one.ipRange} and ${before.ipRange}`;
  return invalid(one.field, `must not overlap with \`${before.field}\`: ${both} have addresses in common`);
}
