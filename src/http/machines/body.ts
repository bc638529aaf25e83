import * as z from "zod";
import { sha256Hex } from "../../auth/hash.ts";
import type { Config } from "../../config.ts";
import { formatDuration, parseDuration } from "../../machine/duration.ts";
import { checkRequest, DEFAULT_IMAGE, type MachineRequest } from "../../machine/spec.ts";
import { invalidField } from "../problem.ts";
import { duration } from "../schemas.ts";

const oneName = z.string({ error: ({ input }) => (input === undefined ? "is required" : "must be one name") });

/** The body of a create. A field that is not here is refused: a typing error in `ttl` would cost money. */
export const machineBody = z.strictObject({
  server_type: oneName.meta({ example: "cx23" }),
  region: oneName.meta({ example: "fsn1" }),
  image: z
    .union([z.string(), z.int().positive()], "must be an image's name or id")
    .optional()
    .meta({ example: DEFAULT_IMAGE }),
  ttl: duration.optional().meta({ example: "30m" }),
  labels: z.record(z.string(), z.string("must be text"), "must be an object of texts").optional(),
  cloud_init: z.string().optional(),
  enable_ipv4: z.boolean().optional(),
  enable_ipv6: z.boolean().optional(),
  keep_on_failure: duration.optional().meta({ example: "2h" }),
});

export type MachineBody = z.infer<typeof machineBody>;

export interface ParsedBody {
  readonly request: MachineRequest;
  readonly ttlMs: number | null;
  readonly keepOnFailureMs: number | null;
  /** Of the normalised body: defaults not expanded, `ttl` left out. Two bodies are the same spec if this is equal. */
  readonly specSha256: string;
}

const LEAST_TTL_MS = 60_000;

/** A body in the domain's words, by every rule that can be checked here. Throws the first that is broken. */
export async function parseMachineBody(body: MachineBody, config: Config): Promise<ParsedBody> {
  const { server_type, region, image, ttl, labels, cloud_init, enable_ipv4, enable_ipv6, keep_on_failure } = body;
  const checked = checkRequest({
    serverType: server_type,
    region,
    image: image === undefined ? DEFAULT_IMAGE : String(image),
    cloudInit: cloud_init ?? "",
    labels: labels ?? {},
    enableIpv4: enable_ipv4 ?? true,
    enableIpv6: enable_ipv6 ?? true,
  });
  if (!checked.ok) throw invalidField(checked.problem.field, checked.problem.rule);
  const ttlMs = parseLife("ttl", ttl, config);
  const keepOnFailureMs = parseLife("keep_on_failure", keep_on_failure, config);
  const sortedLabels = labels && Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  const asked = [server_type, region, image, sortedLabels, cloud_init, enable_ipv4, enable_ipv6, keep_on_failure];
  const specSha256 = await sha256Hex(JSON.stringify(asked.map((value) => value ?? null)));
  return { request: checked.value, ttlMs, keepOnFailureMs, specSha256 };
}

/** A length of life that a caller asks for; null where it does not. */
export function parseLife(
  field: string,
  text: string | undefined,
  { maxAgeMs }: Pick<Config, "maxAgeMs">,
): number | null {
  if (text === undefined) return null;
  const length = parseDuration(text) ?? 0;
  if (length < LEAST_TTL_MS) throw invalidField(field, "must be at least 60s");
  if (length > maxAgeMs) throw invalidField(field, `must be at most ${formatDuration(maxAgeMs)} (MAX_AGE)`);
  return length;
}
