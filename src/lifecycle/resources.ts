import type { Capabilities, Resources } from "../driver/capabilities.ts";
import { isOurs, ourSelector } from "../machine/ownership.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { resourceStatus, type Resource, type ResourceKind, type ResourceRow } from "../machine/resource.ts";
import type { Context } from "./context.ts";
import { claimLeftMs } from "./trying.ts";

/** What the provider offers of a kind; undefined where it has none. */
export function resourcesOf({ firewalls, networks, sshKeys }: Capabilities, kind: ResourceKind): Resources | undefined {
  return { firewall: firewalls, network: networks, ssh_key: sshKeys }[kind];
}

/** Whether nobody is making what a row asks for: the call that began it was cut off, and only its caller's repeat goes on. */
export const isUnsentResource = (row: ResourceRow, now: number): boolean =>
  resourceStatus(row) === "creating" && claimLeftMs(row, now) === 0;

/** Of one uid there is one, or a few; more is an answer to another question. */
const ONE_PAGE = { maxPages: 1 };

/** A row's own at the provider, whether its id is known or not. A key that was another's first is not found so. */
export async function findByUid(
  { capabilities, rules }: Pick<Context, "capabilities" | "rules">,
  row: Pick<ResourceRow, "uid" | "spec">,
): Promise<Resource | null> {
  const selector = ourSelector(rules.installations, { [LABEL.uid]: row.uid });
  const found = (await resourcesOf(capabilities, row.spec.kind)?.list(selector, ONE_PAGE)) ?? [];
  // Not trusted to have selected (S80).
  return found.find((one) => isOurs(one, rules.installations) && uidIn(one.labels) === row.uid) ?? null;
}
