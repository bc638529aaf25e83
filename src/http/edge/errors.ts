/** What goes wrong before or beside a use case, as problems. */
import { HTTPException } from "hono/http-exception";
import { Misconfigured } from "../../machine/misconfigured.ts";
import { ClaimLeft } from "../../lifecycle/trying.ts";
import { StoreError } from "../../store/db.ts";
import { HttpProblem, type ProblemCode } from "./problem.ts";

/** Under these it may have been done all the same. */
const IN_DOUBT: ReadonlySet<ProblemCode> = new Set(["store_unavailable", "provider_unavailable"]);

/** Anything thrown, as the problem that the caller is told; `instead` is what to do in doubt, where a repeat would do it once more. */
export function toProblem(error: unknown, instead?: string): HttpProblem {
  const problem = meaningOf(error);
  if (instead === undefined || !IN_DOUBT.has(problem.code)) return problem;
  return new HttpProblem(problem.code, { ...problem.details, next: instead });
}

function meaningOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof Misconfigured)
    return new HttpProblem("misconfigured", {
      detail: `The setting ${error.key} cannot be used.`,
      field: error.key,
      rule: error.rule,
      next: "An admin must correct it and deploy again.",
    });
  if (error instanceof StoreError)
    return new HttpProblem("store_unavailable", {
      detail: `What was asked may have happened: ${error.hint}.`,
      next: "Repeat the same call; it cannot double anything.",
      ...(error instanceof ClaimLeft ? { retryAfterSeconds: error.seconds } : {}),
    });
  // Hono's own refusals are all about requests that it cannot read.
  if (error instanceof HTTPException && error.status < 500)
    return new HttpProblem("malformed", { detail: error.message });
  return new HttpProblem("internal", {
    detail: "mayfly met an error of its own.",
    next: "Report it with the request_id.",
  });
}
