// Holds a running simulator to Hetzner's OpenAPI document: every answer that it gives to anybody.
//
// Exempt are the control plane, which is ours, and two kinds of answer of which the document cannot know: one whose
// body an injected fault replaced by something that is no JSON, and one about a server that the control plane put in
// with parts missing. Where the document has no such operation (an unknown path, a wrong method) it can only be refused,
// in the envelope that all refusals share; GET /servers lends its description of that.
import { OPERATIONS } from "../simulator/routes.ts";
import type { Simulator } from "../simulator/simulator.ts";
import { readOfficialDocument, type OfficialDocument } from "./official-document.ts";

/** The document named by HETZNER_OPENAPI (a copy of https://docs.hetzner.cloud/cloud.spec.json), if one is named. */
export function officialDocument(): OfficialDocument | null {
  const file = process.env["HETZNER_OPENAPI"] ?? "";
  return file === "" ? null : readOfficialDocument(file);
}

/** What the document has against an answer; `path` is with `/v1`, without query. */
export function complaints(
  document: OfficialDocument,
  method: string,
  path: string,
  status: number,
  body: unknown,
): string[] {
  const bare = path.replace(/^\/v1(?=\/)/, "");
  return descriptionsOf(document, method, bare, status)
    .flatMap((described) => document.differences(described.method, described.path, described.status, body))
    .map((fault) => `${method} ${path}: ${fault}`);
}

/** What the document says about an answer, all of which has to hold. */
function descriptionsOf(document: OfficialDocument, method: string, path: string, status: number): Description[] {
  const operation = operationOf(method, path);
  const refused = status >= 400;
  if (operation === null && refused) return [{ method: "GET", path: "/servers", status }];
  const lent = operation !== null && !document.describes(method, path) ? (LOANS[operation] ?? []) : [];
  if (lent.length === 0) return [{ method, path, status }];
  return lent.map((loan) => {
    return { method: loan.method, path: loan.path, status: refused ? status : (loan.success ?? status) };
  });
}

interface Description {
  method: string;
  path: string;
  status: number;
}

/**
 * Some copies of the document are excerpts, without these operations. What their answers are made of is described
 * elsewhere, in an answer with the same status or with the one of `success`.
 */
const LOANS: Record<string, { method: string; path: string; success?: number }[]> = {
  "GET /images/{id}/actions": [{ method: "GET", path: "/servers/1/actions" }],
  "GET /images/{id}/actions/{id}": [{ method: "GET", path: "/servers/1/actions/1" }],
  "POST /images/{id}/actions/change_protection": [{ method: "POST", path: "/servers/1/actions/change_protection" }],
  "POST /servers/{id}/actions/create_image": [
    { method: "POST", path: "/servers/1/actions/poweron" },
    { method: "GET", path: "/images/1", success: 200 },
  ],
};

/** The operation that a request is about, as in OPERATIONS; null where the simulator has none. */
export function operationOf(method: string, path: string): string | null {
  const template = path.replaceAll(/\/\d+(?=\/|$)/g, "/{id}");
  return OPERATIONS.find((operation) => operation === `${method} ${template}`) ?? null;
}

/** A simulator that answers as the given one does, and a list to which every difference from the document is added. */
export function judged(simulator: Simulator, document: OfficialDocument | null): { sim: Simulator; faults: string[] } {
  const faults: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const response = await simulator.fetch(request);
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json") === true;
    if (document !== null && isJson && !pathname.startsWith("/_sim/") && response.body !== null)
      faults.push(...complaints(document, request.method, pathname, response.status, await response.clone().json()));
    return response;
  };
  return { sim: { ...simulator, fetch }, faults };
}
