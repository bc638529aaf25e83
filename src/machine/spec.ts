import { checkCallerLabels, checkProviderLabels } from "./labels.ts";
import type { Attachment } from "./attachment.ts";
import type { Labels } from "./machine.ts";
import { checkName } from "./name.ts";
import { parseImageSelector } from "./selector.ts";
import { invalid, valid, type Checked } from "./validation.ts";

/** What a driver is asked to make. The first five fields are contract A's frozen core (S14); a driver may ignore the rest. */
export interface MachineSpec {
  /** The provider name: RFC 1123, at most 63, and the key of idempotency. */
  readonly name: string;
  readonly region: string;
  readonly serverType: string;
  /** cloud-init, byte for byte; `""` for none. Never stored, logged or shown. */
  readonly cloudInit: string;
  readonly labels: Labels;
  readonly image: string;
  readonly enableIpv4: boolean;
  readonly enableIpv6: boolean;
  /** Provider ids. */
  readonly sshKeyIds: readonly string[];
  /** Provider ids. */
  readonly networkIds: readonly string[];
  /** Provider ids. */
  readonly firewallIds: readonly string[];
}

export const DEFAULT_IMAGE = "debian-12";
/** Hetzner's own limit; counted in bytes of UTF-8, which satisfies every reading of it (S26). */
export const CLOUD_INIT_MAX_BYTES = 32_768;

/** What names and ids of a provider's things look like. */
const TOKEN = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;
export const TOKEN_RULE =
  "must be 1 to 128 letters, digits, `-`, `_` or `.`, beginning and ending with a letter or digit";

export const isProviderWord = (text: string): boolean => TOKEN.test(text);

/** A pair of server type and region to try. */
export interface Candidate {
  readonly serverType: string;
  readonly region: string;
}

/** What a caller asks for, before it has a uid, an owner or an end. */
export interface MachineRequest {
  /** A name or an id; or a selector of labels, which means the newest snapshot that has them. */
  readonly image: string;
  readonly isImageSelector: boolean;
  readonly cloudInit: string;
  readonly labels: Labels;
  readonly enableIpv4: boolean;
  readonly enableIpv6: boolean;
}

/** Checks a caller's request by every rule that needs no provider. The first broken rule is named. */
export function checkRequest(request: MachineRequest, attachments: readonly Attachment[]): Checked<MachineRequest> {
  const labels = checkCallerLabels(request.labels);
  if (!labels.ok) return labels;
  const image = checkImage(request);
  if (!image.ok) return image;
  const number = (kind: Attachment["kind"]): number => attachments.filter((one) => one.kind === kind).length;
  const attached = { networks: number("network"), firewalls: number("firewall") };
  const common = checkCommon({ ...request, image: image.value }, attached);
  return common.ok ? valid(request) : common;
}

/** The image to check; what a selector means is not known yet. */
function checkImage({ image, isImageSelector }: MachineRequest): Checked<string> {
  if (!isImageSelector) return valid(image);
  const selector = parseImageSelector(image);
  return selector.ok ? valid(DEFAULT_IMAGE) : selector;
}

/**
 * Checks a spec locally before any provider call (S21-S31, S36). A driver calls this too: nothing that a provider
 * would only find out by billing reaches it.
 */
export function checkSpec(spec: MachineSpec): Checked<MachineSpec> {
  const name = checkName(spec.name);
  if (!name.ok) return name;
  const labels = checkProviderLabels(spec.labels);
  if (!labels.ok) return labels;
  if (!isProviderWord(spec.serverType)) return invalid("server_type", TOKEN_RULE);
  if (!isProviderWord(spec.region)) return invalid("region", TOKEN_RULE);
  const common = checkCommon(spec, { networks: spec.networkIds.length, firewalls: spec.firewallIds.length });
  return common.ok ? valid(spec) : common;
}

type Common = Omit<MachineRequest, "labels" | "isImageSelector">;

function checkCommon(spec: Common, attached: { networks: number; firewalls: number }): Checked<Common> {
  if (!TOKEN.test(spec.image)) return invalid("image", TOKEN_RULE);
  if (!spec.cloudInit.isWellFormed()) return invalid("cloud_init", "must be text that UTF-8 can hold");
  const bytes = new TextEncoder().encode(spec.cloudInit).byteLength;
  if (bytes > CLOUD_INIT_MAX_BYTES)
    return invalid("cloud_init", `must be at most ${CLOUD_INIT_MAX_BYTES} bytes of UTF-8, is ${bytes}`);
  const isPublic = spec.enableIpv4 || spec.enableIpv6;
  if (!isPublic && attached.networks === 0)
    return invalid(
      "enable_ipv6",
      "must be true when enable_ipv4 is false and there is no network: nothing could reach the machine otherwise",
    );
  if (!isPublic && attached.firewalls > 0)
    return invalid("firewalls", "must be left out where there is no public address: a firewall guards nothing else");
  return valid(spec);
}
