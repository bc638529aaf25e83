import { Misconfigured } from "../src/machine/misconfigured.ts";

/** How a setting or an entry is refused. Throws where nothing is. */
export function refusalOf(act: () => unknown): Misconfigured {
  try {
    act();
  } catch (error) {
    if (error instanceof Misconfigured) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
