/** What goes wrong before or beside a use case, as problems. */
import { HTTPException } from "hono/http-exception";
import { Misconfigured } from "../../machine/misconfigured.ts";
import { ClaimLeft } from "../../lifecycle/trying.ts";
import { StoreError } from "../../store/db.ts";
import { HttpProblem } from "./problem.ts";

/** Anything thrown, as the problem that the caller is told. */
export function toProblem(error: unknown): HttpProblem {
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
