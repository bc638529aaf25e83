import { describe, expect, it } from "vitest";
import { readDeployment } from "../../src/deployment.ts";
import { refusalOf } from "../misconfigured.ts";
import { CONFIGURATION } from "./senders.ts";

const { hooks, ...rest } = CONFIGURATION;
const [create, destroy] = hooks.preview.rules;
const read = (given: unknown) => readDeployment({ ...rest, hooks: given }, false);
const preview = (more: object) => ({ preview: { ...hooks.preview, ...more } });
const rule = (more: object) => preview({ rules: [{ ...create, ...more }, destroy] });
const SECRET = "must be the name of a setting that begins with HOOK_, in capitals, and does not end with _OLD";
const PATH = "must be a path into the payload: keys of letters, digits, `_` and `-`, joined by dots";
const NAME =
  "must be text of at most 200 characters with paths in braces, like `pr-{pull_request.number}`, and no other brace";

describe("hooks of the configuration", () => {
  it("are read, with their defaults", () => {
    const { preview: github, boxes } = Object.fromEntries(read(hooks).hooks);
    expect(github).toMatchObject({
      sender: "github",
      secret: "HOOK_PREVIEW",
      sources: { by: "repository", ids: new Set(["123456789", "186853002"]) },
      rules: [
        {
          on: "pull_request",
          when: [
            { path: ["action"], patterns: ["opened", "reopened", "synchronize"] },
            { path: ["pull_request", "head", "repo", "fork"], patterns: ["false"] },
          ],
          act: "create",
          name: [{ text: "pr-" }, { path: ["pull_request", "number"] }],
          ttl: "8h",
          rank: null,
        },
        { act: "destroy", ttl: null },
      ],
    });
    expect(boxes).toMatchObject({ sources: null, rules: null, policy: "preview" });
    const plain = read({ one: { sender: "standard", secret: "HOOK_ONE", profile: "small" } }).hooks.get("one");
    expect(plain?.policy).toBe("default");
  });

  it.each<[string, unknown]>([
    ["hooks must be an object of hooks by name", []],
    [
      "hooks.Preview must be 1 to 32 lower-case letters, digits and inner hyphens, beginning with a letter",
      { Preview: hooks.preview },
    ],
    ["hooks.preview.sender must be one of github, gitlab, standard", preview({ sender: "gitea" })],
    ["hooks.preview.secret must be another: the hook other has it already", { other: hooks.preview, ...preview({}) }],
    [`hooks.preview.secret ${SECRET}`, preview({ secret: "ADMIN_TOKEN" })],
    [`hooks.preview.secret ${SECRET}`, preview({ secret: "HOOK_A_OLD" })],
    [`hooks.preview.secret ${SECRET}`, preview({ secret: "hook_a" })],
    [
      "hooks.preview.policy must be a policy without an issuer: there is no such unknown",
      preview({ policy: "unknown" }),
    ],
    ["hooks.preview.profile must be a profile: there is no large", preview({ profile: "large" })],
    [
      "hooks.boxes.profile is required: what machines are made from",
      { boxes: { sender: "standard", secret: "HOOK_B" } },
    ],
    [
      "hooks.preview.repositories is required, or installations: whose events are taken",
      { preview: { ...hooks.preview, repositories: undefined } },
    ],
    ["hooks.preview.installations must be left out where repositories is given", preview({ installations: [5] })],
    ["hooks.preview.projects must be left out for the sender github", preview({ projects: [5] })],
    ["hooks.boxes.projects must be left out for the sender standard", { boxes: { ...hooks.boxes, projects: [5] } }],
    ["hooks.preview.repositories must name at least one", preview({ repositories: [] })],
    [
      "hooks.preview.repositories.0 must be ids: whole numbers of at most 18 digits",
      preview({ repositories: ["a/b"] }),
    ],
    ["hooks.preview.repositories.0 must be ids: whole numbers of at most 18 digits", preview({ repositories: [1.5] })],
    ["hooks.preview.rules must have at least one", preview({ rules: [] })],
    ["hooks.preview.rules.0.name must be text", rule({ name: 7 })],
    [`hooks.preview.rules.0.name ${NAME}`, rule({ name: "" })],
    [`hooks.preview.rules.0.name ${NAME}`, rule({ name: "pr-{}" })],
    [`hooks.preview.rules.0.name ${NAME}`, rule({ name: "pr-{number" })],
    [`hooks.preview.rules.0.name ${NAME}`, rule({ name: "pr-number}" })],
    [`hooks.preview.rules.0.name ${NAME}`, rule({ name: "pr-{a..b}" })],
    [`hooks.preview.rules.0.name ${NAME}`, rule({ name: "pr-{{a}}" })],
    [`hooks.preview.rules.0.when.a..b ${PATH}`, rule({ when: { "a..b": 1 } })],
    ["hooks.preview.rules.0.when.action must name at least one value", rule({ when: { action: [] } })],
    ["hooks.preview.rules.0.do must be one of create, renew, destroy", rule({ do: "delete" })],
    [
      'hooks.preview.rules.0.ttl must be a whole number and a unit, like "90s", "30m", "2h" or "1d", of 60s at least',
      rule({ ttl: "5s" }),
    ],
    ["hooks.preview.rules.0.ttl must be left out of a destroy", rule({ do: "destroy" })],
    [`hooks.preview.rules.0.rank ${PATH}`, rule({ rank: "a b" })],
  ])("a mistake names the entry, the key and the rule: %s", (message, given) => {
    const refusal = refusalOf(() => read(stripped(given)));
    expect(refusal.message).toBe(message);
  });

  it("a rule without a name, and a key that is none, are mistakes", () => {
    expect(refusalOf(() => read(preview({ rules: [{ on: "push", do: "create" }] }))).message).toMatch(
      /^hooks\.preview\.rules\.0\.name /,
    );
    expect(refusalOf(() => read(rule({ wen: {} }))).message).toMatch(/^hooks\.preview\.rules\.0\.wen /);
    expect(refusalOf(() => read(preview({ repository: [1] }))).message).toMatch(/^hooks\.preview\.repository /);
  });

  it("a hook without rules is one whose events say themselves what they want, which only Standard Webhooks do", () => {
    expect(refusalOf(() => read({ preview: { ...stripped({ ...hooks.preview, rules: undefined }) } })).message).toBe(
      "hooks.preview.rules is required: what the events bring about",
    );
  });

  it("its policy must let it name its profile", () => {
    const policies = [{ name: "preview", profiles: ["other*"] }];
    expect(refusalOf(() => readDeployment({ ...rest, policies, hooks }, false)).message).toBe(
      "hooks.preview.profile must be one that the policy preview lets its callers name",
    );
  });
});

/** The same without what is undefined, at any depth. */
const stripped = (given: unknown): object => {
  const copy: unknown = JSON.parse(JSON.stringify(given));
  return typeof copy === "object" && copy !== null ? copy : {};
};
