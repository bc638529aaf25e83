import type { RequestContext } from "./context.ts";
import { done, refused, type Outcome, type Refusal } from "./refusal.ts";

/** What is said when this database belongs to an installation that the configuration does not name. */
export const INSTALLATION_CHANGED: Refusal = {
  code: "installation_changed",
  message: "INSTALLATION is not the one that this database remembers.",
  next: "An admin must set it back, or list the old one in PREVIOUS_INSTALLATIONS so that its machines stay looked after.",
  retryAfterSeconds: 60,
};

/**
 * The installation to make things under, if this database may serve it. It remembers the first that it served; another may only take over what
 * it names in `PREVIOUS_INSTALLATIONS`, because machines under an unnamed one would be forgotten. Called before each create.
 */
export async function claimInstallation({
  store: { settings },
  rules: { installations },
}: Pick<RequestContext, "store" | "rules">): Promise<Outcome<string>> {
  const [current] = installations;
  const known = await settings.claimInstallation(current);
  if (known === current) return done(current);
  if (!installations.includes(known)) return refused(INSTALLATION_CHANGED);
  await settings.moveInstallation(known, current);
  return done(current);
}
