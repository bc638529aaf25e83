// What bounds all accounts together. The API tells nobody; what is deployed has it from here.
import { readConfig } from "../../src/config.ts";
import { toEur } from "../../src/machine/money.ts";
import { Misconfigured } from "../../src/machine/misconfigured.ts";
import { STAND_INS } from "../deploy/secrets.ts";
import type { Toml } from "../deploy/toml.ts";
import { bad, ok, warn, type Finding } from "./finding.ts";

/** What `[vars]` of this checkout say, as the Worker reads them. */
export function limitsFinding({ vars }: Toml): Finding {
  try {
    const { maxMachines, maxMicroEurPerMonth, currency, creates } = readConfig({ ...STAND_INS, ...vars });
    const eur = maxMicroEurPerMonth === null ? "any amount of" : toEur(maxMicroEurPerMonth);
    const says = `${maxMachines} machines at once, ${eur} ${currency} a month, by this checkout's wrangler.toml`;
    if (!creates) return warn("limits", `CREATES is off: nothing is made. Otherwise ${says}`);
    if (maxMicroEurPerMonth === null)
      return warn("limits", `${says}: set MAX_EUR_PER_MONTH, or nothing bounds the bill`);
    return ok("limits", says);
  } catch (error) {
    if (error instanceof Misconfigured) return bad("limits", `${error.message} ([vars] in wrangler.toml)`);
    throw error;
  }
}
