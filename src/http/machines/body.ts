import * as z from "zod";
import { sha256Hex } from "../../auth/hash.ts";
import type { Config } from "../../config.ts";
import type { Attachment } from "../../machine/attachment.ts";
import { formatDuration, parseDuration } from "../../machine/duration.ts";
import { checkRequest, DEFAULT_IMAGE, TOKEN_RULE, type MachineRequest } from "../../machine/spec.ts";
import { invalidField, validOf } from "../problem.ts";
import { duration, providerWord } from "../schemas.ts";
import { attachmentFields, parseAttachments } from "./attachments.ts";

const MOST_CHOICES = 6;
const choicesRule = `must be a name, or a list of 1 to ${MOST_CHOICES} names in order of preference`;
const choices = z.union(
  [providerWord.transform((one) => [one]), z.array(providerWord).min(1, choicesRule).max(MOST_CHOICES, choicesRule)],
  {
    error: ({ input }) => (input === undefined ? "is required" : `${choicesRule}; a name ${TOKEN_RULE}`),
  },
);

/** The body of a create. A field that is not here is refused: a typing error in `ttl` would cost money. */
export const machineBody = z.strictObject({
  server_type: choices.optional().meta({ example: ["cx23", "cx33"] }),
  region: choices.meta({ example: "fsn1" }),
  arch: z.enum(["amd64", "arm64"], "must be amd64 or arm64").optional(),
  image: z
    .union(
      [z.string(), z.int().positive(), z.strictObject({ label_selector: z.string() })],
      "must be an image's name or id, or {label_selector} of a snapshot",
    )
    .optional()
    .meta({ example: DEFAULT_IMAGE }),
  ttl: duration.optional().meta({ example: "30m" }),
  labels: z.record(z.string(), z.string("must be text"), "must be an object of texts").optional(),
  cloud_init: z.string().optional(),
  enable_ipv4: z.boolean().optional(),
  enable_ipv6: z.boolean().optional(),
  keep_on_failure: duration.optional().meta({ example: "2h" }),
  ...attachmentFields,
});

export type MachineBody = z.infer<typeof machineBody>;

export interface ParsedBody {
  readonly request: MachineRequest;
  readonly attachments: readonly Attachment[];
  /** In order of preference; `serverTypes` is empty where `arch` alone decides. */
  readonly asked: { readonly serverTypes: string[]; readonly regions: string[]; readonly arch: string | null };
  readonly ttlMs: number | null;
  readonly keepOnFailureMs: number | null;
  /** Of the normalised body: defaults not expanded, `ttl` left out. Two bodies are the same spec if this is equal. */
  readonly specSha256: string;
}

const LEAST_TTL_MS = 60_000;

/** A body in the domain's words, by every rule that can be checked here. Throws the first that is broken. */
export async function parseMachineBody(body: MachineBody, config: Pick<Config, "maxAgeMs">): Promise<ParsedBody> {
  const { server_type, region, arch, image, ttl, labels, cloud_init, enable_ipv4, enable_ipv6, keep_on_failure } = body;
  if (server_type === undefined && arch === undefined)
    throw invalidField("server_type", "is required, unless `arch` says what to pick from");
  if (server_type !== undefined && arch !== undefined)
    throw invalidField("arch", "must be left out where server_type is given: a type has its own");
  const attachments = parseAttachments(body, region[0] ?? "");
  const request = validOf(
    checkRequest(
      {
        image: typeof image === "object" ? image.label_selector.trim() : String(image ?? DEFAULT_IMAGE),
        isImageSelector: typeof image === "object",
        cloudInit: cloud_init ?? "",
        labels: labels ?? {},
        enableIpv4: enable_ipv4 ?? true,
        enableIpv6: enable_ipv6 ?? true,
      },
      attachments,
    ),
  );
  const ttlMs = parseLife("ttl", ttl, config);
  const keepOnFailureMs = parseLife("keep_on_failure", keep_on_failure, config);
  const sortedLabels = labels && Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  const normal = [
    server_type,
    region,
    arch,
    image,
    sortedLabels,
    cloud_init,
    enable_ipv4,
    enable_ipv6,
    keep_on_failure,
    // Left out where there is none, so that bodies from before these fields keep their hash.
    ...(attachments.length === 0 ? [] : [attachments]),
  ];
  const specSha256 = await sha256Hex(JSON.stringify(normal.map((value) => value ?? null)));
  const asked = { serverTypes: server_type ?? [], regions: region, arch: arch ?? null };
  return { request, attachments, asked, ttlMs, keepOnFailureMs, specSha256 };
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
