import * as z from "zod";
import {
  DEFAULT_TOKEN_LIFE,
  isTokenOwner,
  LONGEST_TOKEN_LIFE,
  mintToken,
  revokeToken,
  TOKEN_OWNER_RULE,
} from "../auth/tokens.ts";
import { parseDuration } from "../machine/duration.ts";
import type { TokenRow } from "../store/tokens.ts";
import { needsBody } from "./edge/body.ts";
import { json, problems } from "./edge/openapi.ts";
import { HttpProblem } from "./edge/problem.ts";
import { requireAdmin } from "./edge/require-admin.ts";
import { type Api, createRoute } from "./edge/route.ts";
import { duration, metaOf, paging, pagination } from "./edge/schemas.ts";

const LONGEST_MS = parseDuration(LONGEST_TOKEN_LIFE) ?? 0;

const time = z.iso.datetime();
const tokenJson = z.object({
  id: z.string(),
  owner: z.string(),
  created_at: time,
  expires_at: time,
  revoked_at: time.nullable(),
});
const mintBody = z.strictObject({
  owner: z.string().refine(isTokenOwner, TOKEN_OWNER_RULE).meta({ example: "alice" }),
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
    body: { content: { "application/json": { schema: mintBody } }, required: true },
  },
  responses: { 201: json(z.object({ token: tokenJson.extend({ secret: z.string() }) }), "The token"), ...problems },
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
  summary: "Revoke a token (admin); a second time changes nothing",
  middleware: requireAdmin,
  request: { params: z.object({ id: z.string() }), query: z.strictObject({}) },
  responses: { 200: json(z.object({ token: tokenJson }), "The token, revoked"), ...problems },
});

/** The routes of tokens. */
export function tokenRoutes(app: Api): void {
  app.openapi(post, async (c) => {
    const scope = c.get("scope");
    const { owner, expires_in: life } = c.req.valid("json");
    const { token, secret } = await mintToken(scope, {
      owner,
      lifeMs: parseDuration(life) ?? 0,
      randomBytes: scope.randomBytes(32),
      authEpoch: scope.auth.authEpoch,
    });
    return c.json({ token: { ...toJson(token), secret } }, 201);
  });

  app.openapi(list, async (c) => {
    const { page, per_page: perPage } = c.req.valid("query");
    const { rows, total } = await c.get("scope").reads.tokens.list(page, perPage);
    return c.json({ tokens: rows.map(toJson), meta: metaOf(page, perPage, total) }, 200);
  });

  app.openapi(revoke, async (c) => {
    const token = await revokeToken(c.get("scope"), c.req.valid("param").id);
    if (token === null) throw new HttpProblem("not_found", { detail: "There is no token of this id." });
    return c.json({ token: toJson(token) }, 200);
  });
}

const toJson = ({ id, owner, createdAt, expiresAt, revokedAt }: TokenRow) => ({
  id,
  owner,
  created_at: new Date(createdAt).toISOString(),
  expires_at: new Date(expiresAt).toISOString(),
  revoked_at: revokedAt === null ? null : new Date(revokedAt).toISOString(),
});
