/** What goes wrong before or beside a use case, as problems. */
import { HTTPException } from "hono/http-exception";
import { Misconfigured } from "../../machine/misconfigured.ts";
import { ClaimLeft } from "../../lifecycle/trying.ts";
import { StoreError } from "../../store/db.ts";
import { HttpProblem, type ProblemCode } from "./problem.ts";

/** Under these it may have been done all the same. */
const IN_DOUBT: ReadonlySet<ProblemCode> = new Set([
  "store_unavailable",
  "store_full",
  "provider_unavailable",
  "internal",
]);

/** A call that makes something. */
interface Making {
  /** The name of the machine that it may have made. */
  readonly making: string | undefined;
  /** What to do in doubt, where a repeat would do it once more. */
  readonly instead: string | undefined;
}

/** Anything thrown, as the problem that the caller is told. */
export function toProblem(error: unknown, { making: name, instead }: Making): HttpProblem {
  const problem = meaningOf(error);
  const { code, details } = problem;
  if (!IN_DOUBT.has(code) || details.madeNothing === true) return problem;
  const told = { ...details, more: { ...details.more, name } };
  return new HttpProblem(code, instead === undefined ? told : { ...told, next: instead });
}

function meaningOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof Misconfigured) return misconfigured(error);
  if (error instanceof StoreError && error.isFull)
    return new HttpProblem("store_full", {
      detail: `What was asked may have happened, and could not be written down: ${error.hint}.`,
      next: "Tell an admin, then repeat the same call. To destroy one machine by its name or id works all the same.",
    });
  if (error instanceof StoreError)
    return new HttpProblem("store_unavailable", {
      detail: `What was asked may have happened: ${error.hint}.`,
      next: "Repeat the same call; it cannot double anything.",
      ...(error instanceof ClaimLeft ? { retryAfterSeconds: error.seconds } : {}),
    });
  // Hono's own refusals are all about requests that it cannot read.
  if (error instanceof HTTPException && error.status < 500)
    return new HttpProblem("malformed", {
      detail: error.message,
      next: "Send what /openapi.json says of this call.",
    });
  return new HttpProblem("internal", {
    detail: "mayfly met an error of its own.",
    next: "Report it with the request_id.",
  });
}

/** This is answered before it is known who asks. */
const misconfigured = ({ isSetting, key, rule }: Misconfigured): HttpProblem =>
  isSetting
    ? new HttpProblem("misconfigured", {
        detail: `The setting ${key} cannot be used.`,
        field: key,
        rule,
        next: "An admin must correct it and deploy again.",
      })
    : new HttpProblem("misconfigured", {
        detail: "The configuration cannot be used.",
        next: "An admin must correct mayfly.config.ts and deploy again; `npm run configuration` and the log say what is wrong.",
      });

/** Problems of which the log must say what the caller is not told. */
const UNTOLD: ReadonlySet<ProblemCode> = new Set(["internal", "store_unavailable", "store_full", "misconfigured"]);

/** What the log says of what was thrown, beside the problem's code; null where that says all. */
export function untold(error: unknown, { code }: HttpProblem): string | null {
  if (!UNTOLD.has(code)) return null;
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
}
