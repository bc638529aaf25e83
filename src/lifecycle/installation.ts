import type { RequestContext } from "./context.ts";
import { done, refused, type Outcome, type Refusal } from "./refusal.ts";

/** What is said when this database belongs to an installation that the configuration does not name. */
const INSTALLATION_CHANGED: Refusal = {
  code: "installation_changed",
  message: "This database belongs to another installation.",
  next: "An admin must name that one again, or as one that this one took over, so that its machines stay looked after.",
  retryAfterSeconds: 60,
};

type Claiming = Pick<RequestContext, "store" | "rules">;

/**
 * The installation to make things under, if this database may serve it. It remembers the first that it served; another may only take
 * over what it names as its previous ones, because machines under an unnamed one would be forgotten. Called before each create.
 */
export async function claimInstallation(context: Claiming): Promise<Outcome<string>> {
  const { settings } = context.store;
  const [current] = context.rules.installations;
  return serve(context, (await settings.installation()) ?? (await settings.claimInstallation(current)));
}

/** Whether it may serve it, and whether it serves any by now. */
export async function checkInstallation(context: Claiming): Promise<Outcome<{ readonly isClaimed: boolean }>> {
  const known = await context.store.settings.installation();
  const served = known === null ? done(undefined) : await serve(context, known);
  return served.ok ? done({ isClaimed: known !== null }) : served;
}

async function serve({ store, rules: { installations } }: Claiming, known: string): Promise<Outcome<string>> {
  const [current] = installations;
  if (known === current) return done(current);
  if (!installations.includes(known)) return refused(INSTALLATION_CHANGED);
  await store.settings.moveInstallation(known, current);
  return done(current);
}
