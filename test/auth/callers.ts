// mayfly as a CI job meets it: with a token of its forge in place of a secret.
import { expect } from "vitest";
import type { Configuration } from "../../src/deployment.ts";
import { BODY, createMayfly, type Answer } from "../mayfly.ts";
import { AUDIENCE, createIssuer, GITHUB, type TestIssuer } from "./issuer.ts";

export const POLICIES: NonNullable<Configuration["policies"]> = [
  { name: "main", issuer: "github", claims: { repository_id: "74", ref: "refs/heads/main" } },
];

/** mayfly, one issuer, and calls with its tokens. Left out: GitHub, and a policy for the main branch of repository 74. */
export async function createCallers(given: {
  issuer?: TestIssuer;
  configuration?: Configuration;
  settings?: Record<string, string>;
}) {
  const issuer = given.issuer ?? (await createIssuer({ url: GITHUB, alg: "ES256" }));
  const settings = { OIDC_AUDIENCE: AUDIENCE, ...given.settings };
  const mayfly = createMayfly(settings, given.configuration ?? { policies: POLICIES }, issuer.hosts);
  const sign = (claims: Record<string, unknown>): Promise<string> => issuer.sign(claims, mayfly.now());
  const present = (token: string): Promise<Answer> => mayfly.send("PUT", "/v1/machines/box", BODY, token);
  return {
    mayfly,
    issuer,
    sign,
    /** Asks for a machine with a token. */
    present,
    /** The same with a token of these claims that is right in all else. */
    ask: async (claims: Record<string, unknown>): Promise<Answer> => present(await sign(claims)),
    /** Expects that an answer is a refusal, and that neither the provider nor D1 has heard of the call. */
    async expectRefused(answer: Answer, status: number, code: string, fields: object = {}): Promise<void> {
      expect(answer).toMatchObject({ status, body: { status, code, ...fields } });
      expect(mayfly.simulator.requests()).toEqual([]);
      expect(mayfly.logs.at(-1)).toMatchObject({ event: "request", outcome: code, principal: null, statements: 0 });
      const { results } = await mayfly.bindings.DB.prepare("SELECT count(*) AS n FROM machines").all();
      expect(results).toEqual([{ n: 0 }]);
    },
  };
}
