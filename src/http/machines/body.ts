import * as z from "zod";
import type { MachineOrder } from "../../lifecycle/order.ts";
import { configName } from "../../auth/issuers.ts";
import { RESOURCE_KINDS } from "../../machine/resource.ts";
import { DEFAULT_IMAGE, TOKEN_RULE } from "../../machine/spec.ts";
import { duration, labels, providerWord } from "../edge/schemas.ts";
import { attachmentFields, parseAttachments } from "./attachments.ts";

const MOST_CHOICES = 6;
const choicesRule = `must be a name, or a list of 1 to ${MOST_CHOICES} names in order of preference`;
const choices = z.union(
  [providerWord.transform((one) => [one]), z.array(providerWord).min(1, choicesRule).max(MOST_CHOICES, choicesRule)],
  {
    error: ({ input }) => (input === undefined ? "is required" : `${choicesRule}; a name ${TOKEN_RULE}`),
  },
);

/** What a profile may say of a machine. A field that is not here is refused: a typing error in `ttl` would cost money. */
export const profileBody = z.strictObject({
  server_type: choices.optional().meta({ example: ["cx23", "cx33"] }),
  region: choices.optional().meta({ example: "fsn1" }),
  arch: z.enum(["amd64", "arm64"], "must be amd64 or arm64").optional(),
  image: z
    .union(
      [z.string(), z.int().positive(), z.strictObject({ label_selector: z.string() })],
      "must be an image's name or id, or {label_selector} of a snapshot",
    )
    .optional()
    .meta({ example: DEFAULT_IMAGE }),
  ttl: duration.optional().meta({ example: "30m" }),
  labels: labels.optional(),
  cloud_init: z.string().optional(),
  enable_ipv4: z.boolean().optional(),
  enable_ipv6: z.boolean().optional(),
  keep_on_failure: duration.optional().meta({ example: "2h" }),
  ...attachmentFields,
});

export type ProfileEntry = z.input<typeof profileBody>;

/** The body of a create: the same, and the profile that says the rest. */
export const machineBody = profileBody
  .extend({ profile: configName.optional().meta({ example: "small" }) })
  .meta({ id: "MachineOrder" });

export type MachineBody = z.infer<typeof machineBody>;

const FIELDS = { firewall: "firewalls", network: "networks", ssh_key: "ssh_keys" } as const;

/** A body in the domain's words; what is attached is read by its rules here, the rest by `checkOrder`. */
export const orderOf = (body: MachineBody): MachineOrder => ({
  profile: body.profile,
  serverTypes: body.server_type,
  regions: body.region,
  arch: body.arch,
  image: typeof body.image === "object" ? { labelSelector: body.image.label_selector } : body.image,
  labels: body.labels,
  cloudInit: body.cloud_init,
  enableIpv4: body.enable_ipv4,
  enableIpv6: body.enable_ipv6,
  attachments: parseAttachments(body, body.region?.[0] ?? ""),
  without: RESOURCE_KINDS.filter((kind) => body[FIELDS[kind]]?.length === 0),
  ttl: body.ttl,
  keepOnFailure: body.keep_on_failure,
});
