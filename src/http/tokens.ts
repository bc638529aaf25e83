import * as z from "zod";
import { isTokenOwner, TOKEN_OWNER_RULE } from "../auth/owner-key.ts";
import {
  DEFAULT_TOKEN_LIFE,
  isTokenNote,
  LONGEST_TOKEN_LIFE,
  mintToken,
  revokeToken,
  TOKEN_NOTE_RULE,
  type MintRefusal,
} from "../auth/tokens.ts";
import { revokeWithAll } from "../lifecycle/revoke-token.ts";
import { parseDuration } from "../machine/duration.ts";
import type { TokenRow } from "../store/tokens.ts";
import { inBackground } from "./edge/background.ts";
import { needsBody } from "./edge/body.ts";
import { json, problems } from "./edge/openapi.ts";
import { HttpProblem } from "./edge/problem.ts";
import { requireAdmin } from "./edge/require-admin.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { duration, flag, keyHeader, metaOf, paging, pagination } from "./edge/schemas.ts";
import { timeOf, timeOrNull } from "./edge/times.ts";
import { all, allOf } from "./tear-down.ts";

const LONGEST_MS = parseDuration(LONGEST_TOKEN_LIFE) ?? 0;

const time = z.iso.datetime();
const tokenJson = z
  .object({
    id: z.string(),
    owner: z.string(),
    policy: z.string(),
    note: z.string(),
    created_at: time,
    expires_at: time,
    last_used_at: time.nullable(),
    revoked_at: time.nullable(),
  })
  .meta({ id: "Token" });
const oneToken = z.object({ token: tokenJson });
const minted = z.object({ token: tokenJson.extend({ secret: z.string() }).meta({ id: "MintedToken" }) });
const mintBody = z.strictObject({
  owner: z.string().refine(isTokenOwner, TOKEN_OWNER_RULE).meta({ example: "alice" }),
  policy: z.string("must be a policy's name").default("default"),
  note: z.string(TOKEN_NOTE_RULE).refine(isTokenNote, TOKEN_NOTE_RULE).default(""),
  expires_in: duration
    .refine((text) => {
      const length = parseDuration(text) ?? 0;
      return length > 0 && length <= LONGEST_MS;
    }, `must be longer than 0s and at most ${LONGEST_TOKEN_LIFE}`)
    .default(DEFAULT_TOKEN_LIFE),
});

const post = createRoute({
  method: "post",
  path: "/v1/tokens",
  summary: "Mint a token for a named owner (admin); its secret is shown this once",
  middleware: [requireAdmin, needsBody] as const,
  request: {
    query: z.strictObject({}),
    headers: keyHeader,
    body: { content: { "application/json": { schema: mintBody } }, required: true },
  },
  responses: {
    201: json(minted, "The token"),
    200: json(minted, "A repeat by its Idempotency-Key: the same token; its first secret is void, this one counts"),
    ...problems,
  },
});
const list = createRoute({
  method: "get",
  path: "/v1/tokens",
  summary: "List tokens without their secrets (admin)",
  middleware: requireAdmin,
  request: { query: z.strictObject(paging) },
  responses: {
    200: json(z.object({ tokens: z.array(tokenJson), meta: z.object({ pagination }) }), "One page"),
    ...problems,
  },
});
const revoke = createRoute({
  method: "delete",
  path: "/v1/tokens/{id}",
  summary: "Revoke a token (admin); with `destroy` everything that its owner has goes too",
  middleware: requireAdmin,
  request: { params: z.object({ id: z.string() }), query: z.strictObject({ destroy: flag.default(false) }) },
  responses: {
    200: json(oneToken, "The token, revoked"),
    202: json(oneToken.extend(all.shape), "The token, revoked, and what goes, in the order in which it goes"),
    ...problems,
  },
});

const LOOK_FIRST =
  "Look at GET /v1/tokens first: a token may have been minted, and a repeat mints another. With an Idempotency-Key it does not.";

/** The routes of tokens. */
export function tokenRoutes(app: Api): void {
  app.openapi(post, async (c) => {
    const { expires_in: life, ...order } = c.req.valid("json");
    const idempotencyKey = c.req.valid("header")["Idempotency-Key"] ?? null;
    if (idempotencyKey === null) c.set("insteadOfRepeating", LOOK_FIRST);
    const made = await mintToken(c.get("scope"), { ...order, lifeMs: parseDuration(life) ?? 0, idempotencyKey });
    if (!made.ok) throw notMinted(made.refusal);
    const body = { token: { ...toJson(made.token), secret: made.secret } };
    return made.isNew ? c.json(body, 201) : c.json(body, 200);
  });

  app.openapi(list, async (c) => {
    const { page, per_page: perPage } = c.req.valid("query");
    const listed = await c.get("scope").reads.tokens.list(page, perPage);
    return c.json({ tokens: listed.rows.map(toJson), meta: metaOf({ page, perPage }, listed) }, 200);
  });

  app.openapi(revoke, async (c) => {
    const scope = c.get("scope");
    const { id } = c.req.valid("param");
    if (!c.req.valid("query").destroy) {
      const token = await revokeToken(scope, id);
      if (token === null) throw noSuchToken();
      return c.json({ token: toJson(token) }, 200);
    }
    const revoked = await revokeWithAll(scope, id);
    if (revoked === null) throw noSuchToken();
    inBackground(c, revoked.work);
    c.set("outcome", "deleting");
    return c.json({ token: toJson(revoked.token), ...(await allOf(scope, revoked)) }, 202);
  });
}

const noSuchToken = (): HttpProblem =>
  new HttpProblem("not_found", { detail: "There is no token of this id.", next: "GET /v1/tokens lists them." });

const notMinted = ({ code, message, ...details }: MintRefusal): HttpProblem =>
  new HttpProblem(code, { detail: message, ...details });

const toJson = (token: TokenRow) => ({
  id: token.id,
  owner: token.owner,
  policy: token.policy,
  note: token.note,
  created_at: timeOf(token.createdAt),
  expires_at: timeOf(token.expiresAt),
  last_used_at: timeOrNull(token.lastUsedAt),
  revoked_at: timeOrNull(token.revokedAt),
});
