import type * as z from "zod";
import { invalidField, type HttpProblem } from "./problem.ts";

type Issues = readonly z.core.$ZodIssue[];

/** The one issue that tells most: a field that is none, which may be a misspelt one; else the first, as deep as it goes. */
export function tellIssue(
  issues: Issues,
  whole: string,
  unknownKey = `is nothing that this call takes (${whole})`,
  path: readonly PropertyKey[] = [],
): HttpProblem {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const at = [...path, ...(issue?.path ?? [])];
  if (issue?.code === "unrecognized_keys") return invalidField([...at, issue.keys[0]].join("."), unknownKey);
  // Of several shapes it is about the one that was meant, which is the one that fits on the outside.
  const meant = issue?.code === "invalid_union" ? issue.errors.find(isInside) : undefined;
  if (meant) return tellIssue(meant, whole, unknownKey, at);
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
