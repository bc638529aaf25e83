// A hook, and events as GitHub sends and signs them.
import { createHmac } from "node:crypto";
import examples from "@octokit/webhooks-examples" with { type: "json" };
import * as z from "zod";

const SECRET = "secret-of-the-benchmark-0123456789";
const opened = z.looseObject({
  action: z.literal("opened"),
  pull_request: z.looseObject({}),
  repository: z.looseObject({ id: z.int() }),
});
const events = z.array(z.object({ name: z.string(), examples: z.array(z.unknown()) })).parse(examples);
const example = opened.parse(
  events
    .flatMap((event) => (event.name === "pull_request" ? event.examples : []))
    .find((one) => opened.safeParse(one).success),
);

const [on, name] = ["pull_request", "pr-{pull_request.number}"];
/** A machine for each pull request, as docs/how-to/pull-request-environments.md has it. */
export const HOOK_SETTINGS: Readonly<Record<string, string>> = {
  HOOK_BENCH: SECRET,
  PROFILES: JSON.stringify({ preview: { server_type: "cx23", region: "fsn1" } }),
  POLICIES: JSON.stringify([{ name: "preview", profiles: ["preview"], machines: 10_000, longest: "24h" }]),
  HOOKS: JSON.stringify({
    bench: {
      sender: "github",
      secret: "HOOK_BENCH",
      repositories: [example.repository.id],
      policy: "preview",
      profile: "preview",
      rules: [
        { on, when: { action: ["opened", "reopened", "synchronize"] }, do: "create", name, ttl: "8h" },
        { on, when: { action: "closed" }, do: "destroy", name },
      ],
    },
  }),
};

export interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What GitHub sends when a pull request is opened, or closed; each number is another one. */
export function deliveryOf(number: number, action: "opened" | "closed" = "opened"): Delivery {
  const pull_request = { ...example.pull_request, number, updated_at: new Date().toISOString() };
  const body = JSON.stringify({ ...example, action, number, pull_request });
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const headers = {
    "Content-Type": "application/json",
    "X-GitHub-Event": "pull_request",
    "X-GitHub-Delivery": `delivery-${number}-${action}`,
    "X-Hub-Signature-256": `sha256=${signature}`,
    // The bare Worker has no settings of its own.
    "X-Secret": SECRET,
  };
  return { headers, body };
}
