/** What goes wrong before or beside a use case, as problems. */
import { HTTPException } from "hono/http-exception";
import type * as z from "zod";
import { Misconfigured } from "../../machine/misconfigured.ts";
import { ClaimLeft } from "../../lifecycle/trying.ts";
import { StoreError } from "../../store/db.ts";
import { HttpProblem, invalidField } from "./problem.ts";

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

type Issues = readonly z.core.$ZodIssue[];

/** The one issue that tells most: a field that is none, which may be a misspelt one; else the first, as deep as it goes. */
export function tellIssue(issues: Issues, whole: string, path: readonly PropertyKey[] = []): HttpProblem {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const at = [...path, ...(issue?.path ?? [])];
  if (issue?.code === "unrecognized_keys")
    return invalidField([...at, issue.keys[0]].join("."), `is nothing that this call takes (${whole})`);
  // Of several shapes it is about the one that was meant, which is the one that fits on the outside.
  const meant = issue?.code === "invalid_union" ? issue.errors.find(isInside) : undefined;
  if (meant) return tellIssue(meant, whole, at);
  return invalidField(at.join(".") || whole, ruleOf(issue?.message ?? "is not valid"));
}

const isInside = (issues: Issues): boolean =>
  issues.some(({ code, path }) => typeof path[0] === "string" || code === "unrecognized_keys");

/** zod's sentences, in words that follow the field's name. */
function ruleOf(message: string): string {
  if (message.endsWith("received undefined")) return "is required";
  const expected = /^Invalid input: expected (\w+)/.exec(message)?.[1];
  return expected === undefined ? message : `must be of type ${expected}`;
}
