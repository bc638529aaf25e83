// An issuer of tokens (OpenID Connect) for tests, in workerd and in Node alike: it has real keys, signs real tokens, and serves
// its public keys to whoever asks. What goes into a token is what GitHub and GitLab say of theirs.
import { exportJWK, generateKeyPair, SignJWT, type JWK } from "jose";

export const GITHUB = "https://token.actions.githubusercontent.com";
export const GITLAB = "https://gitlab.com";
export const AUDIENCE = "mayfly";

const FIVE_MINUTES_S = 300;

type Claims = Record<string, unknown>;
interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export interface TestIssuer {
  readonly url: string;
  /** A token with these claims, signed with the newest key at `now` (Unix milliseconds). Claims of undefined are left out. */
  sign(claims: Claims, now: number, header?: Claims): Promise<string>;
  /** The newest key as it is served. */
  readonly jwk: () => JWK;
  /** Makes a new key; the old ones are served no more. */
  rotate(): Promise<void>;
  /** Answers whoever asks for its keys or its discovery document. */
  fetch(request: Request): Promise<Response>;
  /** Answers once in place of the keys or the document, whatever is asked next; undefined = as always. */
  answer: ((request: Request) => Response | Promise<Response>) | undefined;
  /** The paths that were asked for. */
  readonly asked: string[];
  /** Itself as `createMayfly` takes it: who answers for its host. */
  readonly hosts: Record<string, (request: Request) => Promise<Response>>;
}

export interface IssuerOptions {
  readonly url: string;
  readonly alg?: string;
  /** Where its discovery document says that its keys are. */
  readonly jwksUri?: string;
}

/** Brings up an issuer with one key. Its keys are at every path of its host, its discovery document at the usual one. */
export async function createIssuer({ url, alg = "RS256", jwksUri }: IssuerOptions): Promise<TestIssuer> {
  let made = 0;
  const makeKey = async (): Promise<Key> => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${++made}`;
    return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
  };
  let key = await makeKey();
  const asked: string[] = [];
  const document = { issuer: url, jwks_uri: jwksUri ?? `${url}/keys`, id_token_signing_alg_values_supported: [alg] };
  const issuer: TestIssuer = {
    url,
    async sign(claims, now, header = {}) {
      const seconds = Math.floor(now / 1000);
      const all = { iss: url, aud: AUDIENCE, iat: seconds, nbf: seconds - 5, exp: seconds + FIVE_MINUTES_S, ...claims };
      return new SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))
        .setProtectedHeader({ typ: "JWT", kid: key.kid, alg, ...header })
        .sign(key.privateKey);
    },
    jwk: () => key.jwk,
    rotate: async () => {
      key = await makeKey();
    },
    async fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      if (issuer.answer !== undefined) return issuer.answer(request);
      return Response.json(pathname.endsWith("/openid-configuration") ? document : { keys: [key.jwk] });
    },
    answer: undefined,
    asked,
    hosts: { [new URL(url).host]: (request) => issuer.fetch(request) },
  };
  return issuer;
}

/** What GitHub puts into a job's token (docs.github.com, OpenID Connect reference): every value is text. */
export const githubClaims = (claims: Claims = {}): Claims => ({
  jti: "6f4a4e2e-7c0e-4c61-b1e5-5f8f6b8a1c11",
  sub: "repo:octo-org@65/octo-repo@74:ref:refs/heads/main",
  actor: "octocat",
  actor_id: "12",
  base_ref: "",
  check_run_id: "4242",
  event_name: "push",
  head_ref: "",
  job_workflow_ref: "octo-org/octo-repo/.github/workflows/build.yml@refs/heads/main",
  job_workflow_sha: "714a629c0b401fdce83e847fc9589983fc6f46bc",
  ref: "refs/heads/main",
  ref_protected: "true",
  ref_type: "branch",
  repository: "octo-org/octo-repo",
  repository_id: "74",
  repository_owner: "octo-org",
  repository_owner_id: "65",
  repository_visibility: "private",
  run_attempt: "1",
  run_id: "9001",
  run_number: "10",
  runner_environment: "github-hosted",
  sha: "714a629c0b401fdce83e847fc9589983fc6f46bc",
  workflow: "build",
  workflow_ref: "octo-org/octo-repo/.github/workflows/build.yml@refs/heads/main",
  workflow_sha: "714a629c0b401fdce83e847fc9589983fc6f46bc",
  ...claims,
});

/** What GitLab puts into a job's `id_tokens` (docs.gitlab.com, ID token authentication): ids are text, but the runner's. */
export const gitlabClaims = (claims: Claims = {}): Claims => ({
  jti: "235b3a54-b797-45c7-ae9a-f72d7bc6ef5b",
  sub: "project_path:my-group/my-project:ref_type:branch:ref:main",
  namespace_id: "72",
  namespace_path: "my-group",
  project_id: "20",
  project_path: "my-group/my-project",
  user_id: "1",
  user_login: "sample-user",
  user_email: "sample-user@example.com",
  user_identities: [{ provider: "github", extern_uid: "2435223452345" }],
  pipeline_id: "574",
  pipeline_source: "push",
  job_id: "302",
  ref: "main",
  ref_type: "branch",
  ref_path: "refs/heads/main",
  ref_protected: "true",
  runner_id: 1,
  runner_environment: "self-hosted",
  sha: "714a629c0b401fdce83e847fc9589983fc6f46bc",
  ...claims,
});
