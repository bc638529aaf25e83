import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { sign } from "@octokit/webhooks-methods";
import { MINUTE, NOW, servers, type Answer, type Mayfly } from "../mayfly.ts";
import {
  fromGithub,
  fromStandard,
  githubHeaders,
  openHooks,
  OWNER,
  pullRequest,
  REPOSITORY,
  SECRETS,
  standardHeaders,
} from "./senders.ts";

const BODY = JSON.stringify(pullRequest("opened", NOW));
const BOX = JSON.stringify({ type: "machine.create", data: { name: "box" } });
const MERGE = JSON.stringify({
  object_kind: "merge_request",
  project: { id: 15 },
  object_attributes: { iid: 3, action: "open", updated_at: "2026-11-30 12:00:00 UTC", source_branch: "fix" },
});

const send = (mayfly: Mayfly, hook: string, body: string, headers: Record<string, string>): Promise<Answer> =>
  mayfly.send("POST", `/v1/hooks/${hook}`, body, null, headers);

/** Nothing was written, and nobody was asked. */
async function isUntouched(mayfly: Mayfly): Promise<boolean> {
  const { results } = await env.DB.prepare("SELECT uid FROM deliveries UNION ALL SELECT uid FROM machines").all();
  return results.length === 0 && mayfly.simulator.state().servers.length === 0;
}

const without = (headers: Record<string, string>, ...names: string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

describe("a signature that is right is taken", () => {
  it("as @octokit/webhooks-methods makes it for GitHub", async () => {
    const mayfly = openHooks();
    const answer = await fromGithub(mayfly, pullRequest("opened", NOW));
    expect(answer).toMatchObject({
      status: 202,
      body: {
        delivery: expect.stringMatching(/^delivery-/) as unknown,
        did: [{ rule: 0, do: "create", name: "pr-7", machine: null }],
      },
    });
    expect(servers(mayfly)).toMatchObject([
      {
        labels: { "mayfly-owner": OWNER, "mayfly-account": "pol.preview", source: String(REPOSITORY), ref: "feature" },
      },
    ]);
  });

  it("as the standardwebhooks package makes it, and of several the one that fits", async () => {
    const mayfly = openHooks();
    expect((await fromStandard(mayfly, JSON.parse(BOX))).status).toBe(202);
    const headers = standardHeaders(BOX, NOW);
    const several = `v1a,AAAA v1,${btoa("x".repeat(32))} ${headers["webhook-signature"]}`;
    expect((await send(mayfly, "boxes", BOX, { ...headers, "webhook-signature": several })).status).toBe(202);
    expect(servers(mayfly)).toMatchObject([{ labels: { "mayfly-owner": "hook.boxes", "mayfly-name": "box" } }]);
  });

  it("as GitLab sends its secret token", async () => {
    const mayfly = openHooks();
    const answer = await send(mayfly, "lab", MERGE, { "X-Gitlab-Token": SECRETS.HOOK_LAB, "Idempotency-Key": "k-1" });
    expect(answer).toMatchObject({ status: 202, body: { delivery: "k-1", did: [{ name: "mr-3" }] } });
    expect(servers(mayfly)).toMatchObject([{ labels: { "mayfly-owner": "hook.lab.15", ref: "fix" } }]);
  });

  it("under the id that GitLab keeps for a repeat, and not under that of the try", async () => {
    const ids = { "Idempotency-Key": "k-1", "X-Gitlab-Event-UUID": "e-2" };
    const answer = await send(openHooks(), "lab", MERGE, { "X-Gitlab-Token": SECRETS.HOOK_LAB, ...ids });
    expect(answer).toMatchObject({ status: 202, body: { delivery: "k-1" } });
  });

  it("as GitLab signs with a signing token, which then is never taken as a token", async () => {
    const secret = `whsec_${btoa("canary-of-a-signing-token-012345")}`;
    const mayfly = openHooks({ HOOK_LAB: secret });
    expect((await send(mayfly, "lab", MERGE, standardHeaders(MERGE, NOW, secret))).status).toBe(202);
    expect((await send(mayfly, "lab", MERGE, { "X-Gitlab-Token": secret })).status).toBe(401);
    expect((await send(mayfly, "lab", MERGE, standardHeaders(MERGE, NOW, SECRETS.HOOK_BOXES))).status).toBe(401);
  });

  it("under header names in any case", async () => {
    const mayfly = openHooks();
    const headers = await githubHeaders(BODY);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    expect((await send(mayfly, "preview", BODY, upper)).status).toBe(202);
  });

  it("by the secret before, for as long as that is set", async () => {
    const mayfly = openHooks({ HOOK_PREVIEW_OLD: "canary-of-an-old-secret-0123456789" });
    const old = { secret: "canary-of-an-old-secret-0123456789" };
    expect((await fromGithub(mayfly, pullRequest("opened", NOW), old)).status).toBe(202);
    mayfly.configure({ HOOK_PREVIEW_OLD: "" });
    expect((await fromGithub(mayfly, pullRequest("opened", NOW), old)).status).toBe(401);
  });
});

describe("one that is not right is refused, and nothing is written or asked", () => {
  const old = NOW - 5 * MINUTE - 1000;
  const forged = `v1,${btoa("x".repeat(32))}`;
  it.each<[string, string, string, () => Promise<Record<string, string>>, string]>([
    ["none", "preview", BODY, async () => without(await githubHeaders(BODY), "X-Hub-Signature-256"), "is required"],
    [
      "SHA-1 alone",
      "preview",
      BODY,
      async () => ({
        ...without(await githubHeaders(BODY), "X-Hub-Signature-256"),
        "X-Hub-Signature": `sha1=${"a".repeat(40)}`,
      }),
      "SHA-1",
    ],
    [
      "what is no hexadecimal",
      "preview",
      BODY,
      async () => ({ ...(await githubHeaders(BODY)), "X-Hub-Signature-256": `sha256=${"g".repeat(64)}` }),
      "hexadecimal",
    ],
    ["another hook's secret", "preview", BODY, () => githubHeaders(BODY, { secret: SECRETS.HOOK_LAB }), "secret"],
    ["another body", "preview", `${BODY} `, () => githubHeaders(BODY), "HMAC"],
    ["GitHub's, to a GitLab hook", "lab", BODY, () => githubHeaders(BODY, { secret: SECRETS.HOOK_LAB }), "is required"],
    ["a wrong token", "lab", MERGE, async () => ({ "X-Gitlab-Token": SECRETS.HOOK_PREVIEW }), "secret"],
    ["an old time", "boxes", BOX, async () => standardHeaders(BOX, old), "five minutes"],
    ["a time to come", "boxes", BOX, async () => standardHeaders(BOX, NOW + 6 * MINUTE), "five minutes"],
    [
      "another time than was signed",
      "boxes",
      BOX,
      async () => ({ ...standardHeaders(BOX, old), "webhook-timestamp": String(NOW / 1000) }),
      "signature",
    ],
    [
      "another id than was signed",
      "boxes",
      BOX,
      async () => ({ ...standardHeaders(BOX, NOW), "webhook-id": "msg_other" }),
      "signature",
    ],
    ["no id", "boxes", BOX, async () => without(standardHeaders(BOX, NOW), "webhook-id"), "visible"],
    [
      "a forged one",
      "boxes",
      BOX,
      async () => ({ ...standardHeaders(BOX, NOW), "webhook-signature": forged }),
      "secret",
    ],
    ["a bare one", "boxes", BOX, async () => ({ ...standardHeaders(BOX, NOW), "webhook-signature": "abc" }), "v1"],
    [
      "one by another key",
      "boxes",
      BOX,
      async () => standardHeaders(BOX, NOW, `whsec_${btoa("k".repeat(32))}`),
      "secret",
    ],
  ])("%s: 401", async (_what, hook, body, headers, rule) => {
    const mayfly = openHooks();
    const answer = await send(mayfly, hook, body, await headers());
    expect(answer).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(answer.text).toContain(rule);
    expect(await isUntouched(mayfly)).toBe(true);
  });

  it("another repository, though it is signed: 403", async () => {
    const mayfly = openHooks();
    const answer = await fromGithub(mayfly, pullRequest("opened", NOW, { repository: 5 }));
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await isUntouched(mayfly)).toBe(true);
  });

  it("an event without a repository, for which nothing can be kept: taken, and nothing comes of it", async () => {
    const mayfly = openHooks();
    const answer = await fromGithub(mayfly, { ...pullRequest("opened", NOW), repository: undefined });
    expect(answer).toMatchObject({ status: 202, body: { did: [] } });
    expect(await isUntouched(mayfly)).toBe(true);
  });

  it("25 MB, before anybody looks at its signature: 413", async () => {
    const mayfly = openHooks();
    const answer = await send(mayfly, "preview", "x".repeat(25 * 1024 * 1024), {});
    expect(answer).toMatchObject({ status: 413, body: { code: "too_large" } });
    expect(await isUntouched(mayfly)).toBe(true);
  });

  it("what is no JSON object, though it is signed: 400, and says what to set", async () => {
    const mayfly = openHooks();
    for (const body of ["payload=%7B%7D", "[]", "7", '"text"', "{"]) {
      const answer = await send(mayfly, "preview", body, await githubHeaders(body));
      expect([body, answer.status]).toEqual([body, 400]);
    }
    const form = { ...(await githubHeaders("payload=1")), "Content-Type": "application/x-www-form-urlencoded" };
    expect((await send(mayfly, "preview", "payload=1", form)).text).toContain("application/json");
    const json = { ...(await githubHeaders("{}")), "Content-Type": "application/x-www-form-urlencoded" };
    expect((await send(mayfly, "preview", "{}", json)).status).toBe(202);
    expect(await isUntouched(mayfly)).toBe(true);
  });

  it("an unknown hook: 404; and a bearer token opens none", async () => {
    const mayfly = openHooks();
    expect((await send(mayfly, "none", BODY, await githubHeaders(BODY))).status).toBe(404);
    expect((await mayfly.send("POST", "/v1/hooks/preview", JSON.parse(BODY))).status).toBe(401);
  });
});

describe("a hook whose secret cannot be used answers 503, and names the setting", () => {
  it.each<[string, Record<string, string>, string, string]>([
    ["that is not set", { HOOK_PREVIEW: "" }, "HOOK_PREVIEW", "must be set: it is the secret of the hook preview"],
    ["that is blank", { HOOK_PREVIEW: "  " }, "HOOK_PREVIEW", "must not be blank"],
    ["that is short", { HOOK_PREVIEW: "0123456789abcde" }, "HOOK_PREVIEW", "must have at least 16 characters"],
    ["whose old one is short", { HOOK_PREVIEW_OLD: "short" }, "HOOK_PREVIEW_OLD", "must have at least 16 characters"],
  ])("one %s", async (_what, settings, field, rule) => {
    const mayfly = openHooks(settings);
    const answer = await fromGithub(mayfly, pullRequest("opened", NOW));
    expect(answer).toMatchObject({ status: 503, body: { code: "misconfigured", field } });
    expect(answer.text).toContain(rule);
  });

  it.each(["whsec_short-and-no-base64", "whsec_YWJj", "no base64 at all, though long enough"])(
    "a signing secret that is no key: %s",
    async (secret) => {
      const answer = await fromStandard(openHooks({ HOOK_BOXES: secret }), JSON.parse(BOX)).catch(() => null);
      const plain = answer ?? (await send(openHooks({ HOOK_BOXES: secret }), "boxes", BOX, standardHeaders(BOX, NOW)));
      expect(plain).toMatchObject({ status: 503, body: { field: "HOOK_BOXES" } });
    },
  );

  it("a configuration that cannot be read", async () => {
    const mayfly = openHooks({ MAX_AGE: "long" });
    expect((await fromGithub(mayfly, pullRequest("opened", NOW))).status).toBe(503);
  });

  it("signs what is no ASCII by its bytes", async () => {
    const mayfly = openHooks();
    const body = JSON.stringify({ ...pullRequest("opened", NOW), title: "Grüße, 世界" });
    expect((await send(mayfly, "preview", body, await githubHeaders(body))).status).toBe(202);
    const signature = await sign(SECRETS.HOOK_PREVIEW, `${body}x`);
    const headers = { ...(await githubHeaders(body)), "X-Hub-Signature-256": signature };
    expect((await send(mayfly, "preview", body, headers)).status).toBe(401);
  });
});
