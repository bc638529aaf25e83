// From nothing to a mayfly that sweeps, and from any state on the way to it. What will be done is said first.
import { isLocal } from "../../src/config.ts";
import type { Arguments } from "./arguments.ts";
import { checkLogin, lookAt } from "./cloudflare.ts";
import { differenceOf, type Difference, type Wanted } from "./difference.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { planOf, type Step, type World } from "./plan.ts";
import { canMake, checkSecrets, nameOfNew, readSecrets, SECRETS_FILE, type Secrets } from "./secrets.ts";
import type { Terminal } from "./terminal.ts";
import { migrationsOf, readToml, type Toml } from "./toml.ts";
import { knownUrl } from "./url.ts";
import { createWrangler } from "./wrangler.ts";

/** Where and for whom a deploy is made. */
export interface Surroundings extends Pick<World, "root" | "fetch" | "now" | "say"> {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
}

/** Answers the exit code: 1 where a check finds that something differs. Throws, in a sentence for people, what keeps it from going on. */
export async function deploy(options: Arguments, around: Surroundings): Promise<number> {
  const { root, env } = around;
  const wrangler = createWrangler(root, env);
  const toml = await readToml(root);
  await checkLogin(wrangler, toml, env);
  const wanted: Wanted = {
    toml,
    migrations: await migrationsOf(root),
    tag: await fingerprintOf(root),
    replace: options.replace,
  };
  const difference = differenceOf(await lookAt(wrangler, toml), wanted);
  const world: World = {
    ...around,
    wrangler,
    endpoint: endpointOf(toml, env),
    waitMs: options.waitMs,
    given: await givenFor(difference, options, around),
    url: await knownUrl(root, env),
  };
  const steps = planOf(difference, wanted, world);
  if (options.check) return tellDifferences(steps, around.say);
  await carryOut(steps, difference, world, options);
  await tellSecrets(difference, around);
  return 0;
}

/** Where the token is tried: as the Worker will have it, or as a test says. */
function endpointOf({ vars }: Toml, env: NodeJS.ProcessEnv): string {
  const endpoint = env["HCLOUD_ENDPOINT"] || vars["HCLOUD_ENDPOINT"] || "https://api.hetzner.cloud/v1";
  if (!endpoint.startsWith("https:") && !isLocal({ hcloudEndpoint: endpoint }))
    throw new Error("HCLOUD_ENDPOINT must be https: the token would go over the net in the clear");
  return endpoint;
}

/** Those secrets that are to be set and are said by the environment or the file; checked before anything is done. */
async function givenFor(
  { secrets }: Difference,
  { replace }: Arguments,
  { root, env }: Surroundings,
): Promise<Secrets> {
  const kept = await readSecrets(root);
  const said = (name: string): string | undefined => {
    if (env[name]) return env[name];
    // What is to be replaced may lie there too; and so may what was to replace it, in a run that was broken off.
    return kept[replace.includes(name) ? nameOfNew(name) : name] || undefined;
  };
  const pairs = [...secrets, "INSTALLATION"].flatMap((name) => {
    const value = said(name);
    return value === undefined ? [] : [[name, value.trim()] as const];
  });
  const given = Object.fromEntries(pairs);
  checkSecrets(given);
  return given;
}

function tellDifferences(steps: readonly Step[], say: World["say"]): number {
  const changes = steps.filter((step) => step.changes);
  if (changes.length === 0) say("nothing differs");
  for (const { describe } of changes) say(`to do: ${describe}`);
  return changes.length === 0 ? 0 : 1;
}

async function carryOut(
  steps: readonly Step[],
  difference: Difference,
  world: World,
  { yes }: Arguments,
): Promise<void> {
  const { say } = world;
  const isChange = steps.some((step) => step.changes);
  if (isChange) {
    say("This will:");
    for (const [index, { describe }] of steps.entries()) say(`  ${index + 1}. ${describe}`);
    const refusal = whatLacks(difference, world);
    if (refusal !== null) throw new Error(refusal);
    if (!yes && !world.terminal.isThere)
      throw new Error("nothing was done: there is no terminal to ask on. --yes does it.");
    if (!yes && !(await world.terminal.confirm("Type yes to do it: "))) throw new Error("nothing was done");
  } else say("nothing differs");
  for (const [index, step] of steps.entries()) {
    say(isChange ? `${index + 1}. ${step.describe}` : step.describe);
    await step.carryOut();
  }
}

/** What nobody can be asked for and nobody can make; null where nothing lacks. */
function whatLacks({ secrets }: Difference, { given, terminal }: World): string | null {
  const lacking = secrets.filter((name) => given[name] === undefined && !canMake(name));
  const unasked = lacking.filter((name) => name !== "HCLOUD_TOKEN" || !terminal.isThere);
  return unasked.length === 0 ? null : `nothing was done: ${unasked.join(", ")} must be set in the environment`;
}

/** The last words: what has to be put somewhere safe, and nobody can be asked for again. A log is no such place. */
async function tellSecrets({ secrets }: Difference, { root, env, terminal, say }: Surroundings): Promise<void> {
  const kept = await readSecrets(root);
  say("mayfly runs.");
  const token = kept["ADMIN_TOKEN"];
  if (secrets.includes("ADMIN_TOKEN") && !env["ADMIN_TOKEN"] && token !== undefined && terminal.isThere)
    say(`\nADMIN_TOKEN, which may do everything here, and is not shown again:\n\n  ${token}\n`);
  const names = Object.keys(kept);
  if (names.length > 0)
    say(
      `${SECRETS_FILE} has ${names.join(", ")}: put ${names.length === 1 ? "it" : "them"} into your password manager, then delete the file. ` +
        `An ADMIN_TOKEN that is lost can be replaced, INSTALLATION cannot: it marks what is yours at Hetzner.`,
    );
  if (names.includes(nameOfNew("ADMIN_TOKEN")))
    say(
      `${nameOfNew("ADMIN_TOKEN")} may not be the one that holds: the run that made it did not come to its end. --replace ADMIN_TOKEN goes on with it.`,
    );
  if (secrets.includes("HCLOUD_TOKEN") && env["HCLOUD_TOKEN"])
    say("HCLOUD_TOKEN is with Cloudflare now: take it out of the environment.");
}
