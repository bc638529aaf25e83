/** An event whose signature is right, in words that rules go by, whoever sent it. */
import { isLabelValue } from "../machine/labels.ts";
import type { Labels } from "../machine/machine.ts";
import type { Hook } from "./hook.ts";
import { textsAt, timeOf, valueAt, type Path } from "./path.ts";

export interface HookEvent {
  /** What rules call its kind. */
  readonly kind: string;
  /** The sender's own id for it, else the request's. */
  readonly delivery: string;
  /** The id of the repository or project; null where the event, or the sender, has none. */
  readonly source: string | null;
  readonly payload: unknown;
  /** When the fact was so, as far as the payload says; else the arrival. Unix milliseconds. */
  readonly rank: number;
  readonly receivedAt: number;
}

const KIND: Readonly<Record<Exclude<Hook["sender"], "github">, Path>> = { gitlab: ["object_kind"], standard: ["type"] };
/** Of these the first that can be an id; none of them is signed, save that of Standard Webhooks. */
const DELIVERY: Readonly<Record<Hook["sender"], readonly string[]>> = {
  github: ["X-GitHub-Delivery"],
  gitlab: ["Idempotency-Key", "X-Gitlab-Event-UUID"],
  standard: ["webhook-id"],
};

/** Reads an event. An id of its own is taken where its sender gives none. */
export function readEvent(
  { sender }: Hook,
  headers: Headers,
  payload: unknown,
  { requestId, now }: { readonly requestId: string; readonly now: number },
): HookEvent {
  // GitHub names the kind in a header, which it does not sign. Whoever replays an event could call it another one's, and rules would still
  // find nothing in it that they look for.
  const kind = sender === "github" ? headers.get("X-GitHub-Event") : (textsAt(payload, KIND[sender])[0] ?? null);
  const ids = DELIVERY[sender].map((name) => headers.get(name) ?? "");
  return {
    kind: kind ?? "",
    delivery: ids.find((id) => /^[!-~]{1,200}$/.test(id)) ?? requestId,
    source: sourceOf(sender, payload),
    payload,
    rank: rankIn(sender, kind ?? "", payload) ?? now,
    receivedAt: now,
  };
}

/** An id is one value: a list of them is none. */
function idAt(payload: unknown, ...path: string[]): string | null {
  const [id = ""] = Array.isArray(valueAt(payload, path)) ? [] : textsAt(payload, path);
  return /^[1-9]\d{0,17}$/.test(id) ? id : null;
}

function sourceOf(sender: Hook["sender"], payload: unknown): string | null {
  if (sender === "github") return idAt(payload, "repository", "id");
  return sender === "gitlab" ? (idAt(payload, "project", "id") ?? idAt(payload, "project_id")) : null;
}

/** When what the event is about was last changed; null where that is not said. */
function rankIn(sender: Hook["sender"], kind: string, payload: unknown): number | null {
  if (sender === "standard") return timeOf(valueAt(payload, ["timestamp"]));
  const object = sender === "gitlab" ? "object_attributes" : kind;
  return timeOf(valueAt(payload, [object, "updated_at"]));
}

/**
 * Whether a hook takes events from where this one came from. `nobody`: it says of no repository, installation or project that it is its
 * own, so that nothing can come of it.
 */
export function originOf({ sender, sources }: Hook, { source, payload }: HookEvent): "taken" | "foreign" | "nobody" {
  if (sources === null) return "taken";
  const id = sources.by === "installation" ? idAt(payload, "installation", "id") : source;
  if (id !== null && !sources.ids.has(id)) return "foreign";
  // Machines are kept by the repository, also where a whole installation is taken.
  return id === null || (sender !== "standard" && source === null) ? "nobody" : "taken";
}

const REFS: readonly Path[] = [["pull_request", "head", "ref"], ["object_attributes", "source_branch"], ["ref"]];

/** Labels that tell where a machine came from, as far as they can be labels. */
export function labelsOf({ source, payload }: HookEvent): Labels {
  const ref = REFS.flatMap((path) => textsAt(payload, path))[0]?.replace(/^refs\/(?:heads|tags)\//, "");
  return {
    ...(source === null ? {} : { source }),
    ...(ref === undefined || ref === "" || !isLabelValue(ref) ? {} : { ref }),
  };
}
