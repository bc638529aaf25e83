/** Signed events in a history: facts about pull requests, which on their way are lost, doubled, late and replayed. */
import { sign } from "@octokit/webhooks-methods";
import fc from "fast-check";
import * as z from "zod";
import type { Configuration } from "../../src/deployment.ts";
import { sql } from "../../src/store/db.ts";
import type { Scene } from "./acts.ts";
import type { Books } from "./judge/books.ts";
import type { Answer } from "./world/installation.ts";
import type { Circumstances } from "./world/invocation.ts";
import { HOOK_SETTINGS, MINUTE } from "./world/settings.ts";

const ACTIONS = ["opened", "synchronize", "closed", "reopened"] as const;
const REPOSITORIES = [7, 8] as const;

export type EventAct =
  | {
      readonly do: "event";
      readonly action: (typeof ACTIONS)[number];
      readonly repository: (typeof REPOSITORIES)[number];
      /** So long ago it was so. */
      readonly late: number;
    }
  /** One that was sent before, whether it came or not; another id stands on it. */
  | { readonly do: "replay"; readonly which: number };

/** For how long a pull request has its machine. */
export const EVENT_TTL = 20 * MINUTE;
const on = "pull_request";
const name = "pr-{pull_request.number}";

/** What the histories' configuration says besides. */
export const HOOKED = {
  profiles: { preview: { server_type: "cx23", region: "fsn1" } },
  hooks: {
    preview: {
      sender: "github",
      secret: "HOOK_PREVIEW",
      repositories: [...REPOSITORIES],
      profile: "preview",
      rules: [
        { on, when: { action: ["opened", "synchronize", "reopened"] }, do: "create", name, ttl: "20m" },
        { on, when: { action: "closed" }, do: "destroy", name },
      ],
    },
  },
} as const satisfies Configuration;

export const eventAct: fc.Arbitrary<EventAct> = fc.oneof(
  {
    arbitrary: fc.record({
      do: fc.constant("event" as const),
      action: fc.constantFrom(...ACTIONS),
      repository: fc.constantFrom(...REPOSITORIES),
      late: fc.constantFrom(0, 0, 0, 1, 5, 30, 2000),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ do: fc.constant("replay" as const), which: fc.nat({ max: 20 }) }), weight: 1 },
);

interface Fact {
  readonly action: string;
  readonly repository: number;
  readonly at: number;
}
interface Known {
  readonly at: number;
  /** How often the database had been changed behind mayfly's back by then. */
  readonly changes: number;
}
interface Told {
  readonly sent: Fact[];
  /** By repository: the latest end that was taken on, for as long as the database remembers it. */
  readonly ended: Map<number, Known>;
  /** The same of the latest create. */
  readonly made: Map<number, Known>;
  ids: number;
}
const told = new WeakMap<Books, Told>();
const taken = z.object({ did: z.array(z.object({ do: z.string() })) });

export const ownerOf = (repository: number): string => `hook.preview.${repository}`;
/** The name of every pull request: equal in all repositories. */
export const PULL_REQUEST = "pr-1";

/** Which fact an act sends; undefined where nothing was sent that it could repeat. */
export function factOf({ books, clock }: Scene, act: EventAct): Fact | undefined {
  const known = toldIn(books);
  if (act.do === "replay") return known.sent[act.which % Math.max(1, known.sent.length)];
  const fact = { action: act.action, repository: act.repository, at: clock.now - act.late * MINUTE };
  known.sent.push(fact);
  return fact;
}

/** Sends it as GitHub does, and holds the answer against what was taken on before. */
export async function sendEvent(scene: Scene, fact: Fact, circumstances: Circumstances): Promise<Answer | undefined> {
  const { books, mayfly } = scene;
  const { ended, made, ids } = toldIn(books);
  const { action, repository, at } = fact;
  const changes = books.strikes.get("d1_changed") ?? 0;
  const before = (action === "closed" ? made : ended).get(repository);
  const pullRequest = { number: 1, updated_at: new Date(at).toISOString() };
  const body = { action, pull_request: pullRequest, repository: { id: repository } };
  const headers = {
    "X-GitHub-Event": "pull_request",
    "X-GitHub-Delivery": `d-${ids}`,
    "X-Hub-Signature-256": await sign(HOOK_SETTINGS.HOOK_PREVIEW, JSON.stringify(body)),
  };
  toldIn(books).ids += 1;
  books.areEventsSent = true;
  const answer = await mayfly.send(circumstances, {
    method: "POST",
    path: "/v1/hooks/preview",
    body,
    token: "none",
    headers,
  });
  if (answer === undefined) return answer;
  if (answer.status !== 202 && answer.status !== 503)
    books.broken.push(`I10: an event was answered with ${answer.status}: ${answer.text}`);
  if (answer.status !== 202) return answer;
  const { did } = taken.parse(JSON.parse(answer.text));
  const isBehind = before !== undefined && (action === "closed" ? at < before.at : at <= before.at);
  if (isBehind && before.changes === changes && did.length > 0)
    books.broken.push(`I1: ${action} of ${new Date(at).toISOString()} was taken on, and a newer fact had been before`);
  const latest = action === "closed" ? ended : made;
  const known = latest.get(repository);
  const isKnown = known?.changes === changes && known.at > at;
  if (did.length > 0 && !isKnown) latest.set(repository, { at, changes });
  return answer;
}

/** I1: once an end was taken on, nothing of the name lives on that no newer fact has made. */
export async function checkEnded({ books, database }: Scene, { repository, at }: Fact): Promise<void> {
  const isMadeAnew = toldIn(books).sent.some(
    (fact) => fact.repository === repository && fact.action !== "closed" && fact.at > at,
  );
  // What a database has lost, it finds again by labels.
  if (isMadeAnew || books.strikes.has("d1_changed")) return;
  const live = await database.rows(
    sql(
      "SELECT uid FROM machines WHERE owner = ? AND name = ? AND phase IN ('requested', 'active')",
      ownerOf(repository),
      PULL_REQUEST,
    ),
  );
  if (live.length > 0) books.broken.push(`I1: ${String(live[0]?.["uid"])} lives on after its pull request was closed`);
}

function toldIn(books: Books): Told {
  const known = told.get(books) ?? { sent: [], ended: new Map(), made: new Map(), ids: 0 };
  told.set(books, known);
  return known;
}
