/** What every answer has to be, whichever test it was given in: `createMayfly` holds each against this. */
import * as z from "zod";
import description from "../public/openapi.json" with { type: "json" };

const { paths } = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), z.object({ responses: z.record(z.string(), z.unknown()) }))),
  })
  .parse(description);

/** All operations of the document, as `GET /v1/machines/{ref}`. */
export const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    method: method.toUpperCase(),
    path,
    statuses: new Set(Object.keys(responses)),
    isAt: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  })),
);

const problem = z.object({
  status: z.int(),
  code: z.string(),
  detail: z.string().min(1),
  next: z.string().min(1),
  request_id: z.string(),
});
/** The one answer that is an error and no problem details: it has reasons. */
const HEALTH = "/healthz";

interface Given {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Throws where an answer is not what the document, or the rules for all answers, say that it may be. */
export function judgeAnswer(method: string, target: string, answer: Given): void {
  const faults = [...faultsIn(method, target.replace(/[?#].*/, ""), answer)];
  if (faults.length > 0) throw new Error(`the ${answer.status} to ${method} ${target} ${faults.join("; ")}`);
}

function* faultsIn(method: string, path: string, { status, headers, text }: Given): Iterable<string> {
  const asked = method === "HEAD" ? "GET" : method;
  const operation = OPERATIONS.find((one) => one.method === asked && one.isAt.test(path));
  const isTold = operation?.statuses.has(String(status)) || (status >= 400 && operation?.statuses.has("default"));
  if (operation === undefined ? status < 400 : !isTold) yield "is not in the document";
  if (headers.get("Cache-Control") !== "no-store") yield "may be kept";
  if (headers.get("X-Content-Type-Options") !== "nosniff") yield "may be taken for what it is not";
  const requestId = headers.get("X-Request-Id");
  if (!requestId) yield "has no X-Request-Id";
  const waits = status === 429 || status === 503;
  if (waits && !/^[1-9]\d*$/.test(headers.get("Retry-After") ?? "")) yield "does not say when to come back";
  const isProblem = status >= 400 && !(path === HEALTH && status === 503);
  const type = headers.get("Content-Type");
  if (text === "") {
    if (status !== 204 && method !== "HEAD") yield "is empty";
  } else if (isProblem) {
    if (type !== "application/problem+json") yield `is of the type ${type}`;
    const { data } = problem.safeParse(JSON.parse(text));
    if (data?.status !== status || data.request_id !== requestId) yield "is not the problem that its head says";
  } else if (type !== "application/json") yield `is of the type ${type}`;
}
