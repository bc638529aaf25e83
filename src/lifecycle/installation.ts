import type { RequestContext } from "./context.ts";
import { done, refused, type Outcome, type Refusal } from "./refusal.ts";

/** What is said when this database belongs to an installation that the configuration does not name. */
const INSTALLATION_CHANGED: Refusal = {
  code: "installation_changed",
  message: "This database belongs to another installation.",
  next: "An admin must name that one again, or as one that this one took over, so that its machines stay looked after.",
  retryAfterSeconds: 60,
};

/**
 * The installation to make things under, if this database may serve it. It remembers the first that it served; another may only take
 * over what it names as its previous ones, because machines under an unnamed one would be forgotten. Called before each create.
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
