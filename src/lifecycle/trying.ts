/** What tries to make something at the provider have in common. */
import type { DriverError, DriverErrorCode } from "../driver/driver.ts";

/** One try owns a row for this long: the create call's own time-out and what it takes to record the outcome. */
export const TRY_MS = 30_000;

const NOTHING_MADE: ReadonlySet<DriverErrorCode> = new Set(["invalid_input", "unauthorized", "quota", "rate_limited"]);

/** Whether a refusal says that nothing was made. Everything else may have had an effect that nobody saw. */
export const saysNothingMade = ({ code }: DriverError): boolean => NOTHING_MADE.has(code);
