import { sign } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import type { Configuration } from "../../src/deployment.ts";
import { createMayfly, type Answer, type Mayfly } from "../mayfly.ts";

/** Secrets of hooks, as their senders know them. */
export const SECRETS = {
  HOOK_PREVIEW: "canary-of-the-preview-hook-0123456789",
  HOOK_LAB: "canary-of-the-gitlab-hook-0123456789",
  HOOK_BOXES: `whsec_${btoa("canary-of-the-standard-hook-0123")}`,
};

export const REPOSITORY = 123456789;
export const OWNER = `hook.preview.${REPOSITORY}`;

const NAME = "pr-{pull_request.number}";
const SAME = { "pull_request.head.repo.fork": false };

export const CONFIGURATION = {
  profiles: { small: { server_type: "cx23", region: "fsn1", ttl: "2h" } },
  policies: [{ name: "preview", profiles: ["small"], machines: 50 }],
  hooks: {
    preview: {
      sender: "github",
      secret: "HOOK_PREVIEW",
      repositories: [REPOSITORY, 186853002],
      policy: "preview",
      profile: "small",
      rules: [
        {
          on: "pull_request",
          when: { action: ["opened", "reopened", "synchronize"], ...SAME },
          do: "create",
          name: NAME,
          ttl: "8h",
        },
        { on: "pull_request", when: { action: "closed" }, do: "destroy", name: NAME },
      ],
    },
    lab: {
      sender: "gitlab",
      secret: "HOOK_LAB",
      projects: [15],
      policy: "preview",
      profile: "small",
      rules: [
        {
          on: "merge_request",
          when: { "object_attributes.action": ["open", "reopen", "update"] },
          do: "create",
          name: "mr-{object_attributes.iid}",
        },
        {
          on: "merge_request",
          when: { "object_attributes.action": ["close", "merge"] },
          do: "destroy",
          name: "mr-{object_attributes.iid}",
        },
      ],
    },
    boxes: { sender: "standard", secret: "HOOK_BOXES", policy: "preview", profile: "small" },
  },
} as const satisfies Configuration;

export const openHooks = (
  settings: Record<string, string> = {},
  configuration: Configuration = CONFIGURATION,
): Mayfly => createMayfly({ ...SECRETS, ...settings }, configuration);

/** A pull request's event, as far as rules look at it. */
export const pullRequest = (action: string, at: number, more: { number?: number; repository?: number } = {}) => ({
  action,
  number: more.number ?? 7,
  pull_request: {
    number: more.number ?? 7,
    updated_at: new Date(at).toISOString(),
    head: { ref: "feature", repo: { fork: false } },
  },
  repository: { id: more.repository ?? REPOSITORY, full_name: "acme/app" },
});

let deliveries = 0;

/** The headers under which GitHub sends a body. */
export const githubHeaders = async (
  body: string,
  { event = "pull_request", secret = SECRETS.HOOK_PREVIEW }: { event?: string; secret?: string } = {},
): Promise<Record<string, string>> => ({
  "Content-Type": "application/json",
  "X-GitHub-Event": event,
  "X-GitHub-Delivery": `delivery-${++deliveries}`,
  "X-Hub-Signature-256": await sign(secret, body),
});

/** Sends an event as GitHub does. */
export async function fromGithub(
  mayfly: Mayfly,
  payload: unknown,
  how: { event?: string; secret?: string; hook?: string } = {},
): Promise<Answer> {
  const body = JSON.stringify(payload);
  return mayfly.send("POST", `/v1/hooks/${how.hook ?? "preview"}`, body, null, await githubHeaders(body, how));
}

/** The headers of a Standard Webhooks sender, made by that project's own package. */
export function standardHeaders(body: string, at: number, secret = SECRETS.HOOK_BOXES, id = `msg_${++deliveries}`) {
  const signature = new Webhook(secret).sign(id, new Date(at), body);
  return { "webhook-id": id, "webhook-timestamp": String(Math.floor(at / 1000)), "webhook-signature": signature };
}

/** Sends an event as any Standard Webhooks sender does. */
export function fromStandard(mayfly: Mayfly, payload: unknown, hook = "boxes"): Promise<Answer> {
  const body = JSON.stringify(payload);
  return mayfly.send("POST", `/v1/hooks/${hook}`, body, null, standardHeaders(body, mayfly.now()));
}
