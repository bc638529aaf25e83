import { isLabelKey, isLabelValue } from "../../machine/labels.ts";
import type { Selector } from "../../machine/selector.ts";
import { invalidInput } from "../driver.ts";

/**
 * A selector in Hetzner's grammar, keys in ascending order so that equal selectors make equal requests (S72). Keys and
 * values are checked first: none can end a term and begin another (S73).
 */
export function toLabelSelector(selector: Selector): string {
  return Object.entries(selector)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, wanted]) => {
      const values = typeof wanted === "string" ? [wanted] : wanted;
      if (!isLabelKey(key)) throw invalidInput({ field: "selector", rule: "must name valid label keys" });
      if (!values.every(isLabelValue))
        throw invalidInput({ field: `selector.${key}`, rule: "must be a valid label value" });
      return typeof wanted === "string" ? `${key}==${wanted}` : `${key} in (${values.join(",")})`;
    })
    .join(",");
}
