// What a deploy does, step by step: what is shown and what is done are one and the same list.
import type { Difference, Wanted } from "./difference.ts";
import { tryToken } from "./hetzner-token.ts";
import { waitForHealth, type Fetch } from "./health.ts";
import {
  canMake,
  checkSecrets,
  keepSecrets,
  make,
  nameOfNew,
  SECRETS_FILE,
  settleSecrets,
  type Secrets,
} from "./secrets.ts";
import type { Terminal } from "./terminal.ts";
import { keepUrl, urlIn } from "./url.ts";
import { demand, type Wrangler } from "./wrangler.ts";

/** A step says what it does, and does it. */
export interface Step {
  readonly describe: string;
  /** False for what only looks. */
  readonly changes: boolean;
  /** Rejects with a sentence where it cannot; then no later step is done. */
  carryOut(): Promise<void>;
}

/** What steps work with. */
export interface World {
  readonly root: string;
  readonly wrangler: Wrangler;
  readonly terminal: Terminal;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly say: (line: string) => void;
  readonly endpoint: string;
  readonly waitMs: number;
  /** Secrets that are given: by the environment, or in {@link SECRETS_FILE}. */
  readonly given: Secrets;
  /** Where mayfly answers, if that is known before it is deployed. */
  readonly url: string | null;
}

const HETZNER = "HCLOUD_TOKEN";

/** The steps that take away a difference, in their order, and a look at health where it is known where to look. */
export function planOf(difference: Difference, wanted: Wanted, world: World): Step[] {
  /** What the deploy will set: what is given, and what the steps before it add. */
  const secrets = Object.fromEntries(
    difference.secrets.flatMap((name) => (world.given[name] === undefined ? [] : [[name, world.given[name]]])),
  );
  let { url } = world;
  const steps = [
    ...makeMissing(difference, wanted, world, secrets),
    ...tryHetzner(difference, world, secrets),
    ...prepareDatabase(difference, wanted, world),
  ];
  if (difference.why !== null)
    steps.push({
      describe: `deploy ${wanted.toml.worker} (${difference.why})${difference.secrets.length === 0 ? "" : ` with the secrets ${difference.secrets.join(", ")}`}`,
      changes: true,
      async carryOut() {
        const ran = await deploy(world.wrangler, wanted.tag, secrets);
        await settleSecrets(world.root, wanted.replace);
        url = world.url ?? urlIn(ran);
        if (url !== null) await keepUrl(world.root, url);
      },
    });
  if (difference.why !== null || url !== null)
    steps.push({
      describe: `wait until a sweep was good and health is green${world.url === null ? "" : ` at ${world.url}`}`,
      changes: false,
      async carryOut() {
        if (url === null)
          throw new Error("wrangler did not say where it can be reached: set MAYFLY_URL, and run again");
        world.say(`  ${url}`);
        await waitForHealth({ ...world, url, isNew: difference.why !== null, mostMs: world.waitMs });
      },
    });
  return steps;
}

const deploy = (wrangler: Wrangler, tag: string, secrets: Secrets) => {
  const args = ["deploy", "--tag", tag, "--message", "npm run deploy"];
  if (Object.keys(secrets).length === 0) return demand(wrangler, args);
  return demand(wrangler, [...args, "--secrets-file", "/dev/stdin"], JSON.stringify(secrets));
};

function makeMissing(
  difference: Difference,
  { replace }: Wanted,
  { given, root }: World,
  secrets: Record<string, string>,
): Step[] {
  const names = difference.secrets.filter((name) => given[name] === undefined && canMake(name));
  if (names.length === 0) return [];
  const it = names.length === 1 ? "it" : "them";
  return [
    {
      describe: `make ${names.join(", ")}, and keep ${it} in ${SECRETS_FILE} until you have put ${it} somewhere safe`,
      changes: true,
      async carryOut() {
        for (const name of names) {
          secrets[name] = make(name);
          await keepSecrets(root, { [replace.includes(name) ? nameOfNew(name) : name]: secrets[name] });
        }
      },
    },
  ];
}

function tryHetzner(difference: Difference, world: World, secrets: Record<string, string>): Step[] {
  if (!difference.secrets.includes(HETZNER)) return [];
  const asks = world.given[HETZNER] === undefined;
  return [
    {
      describe: `${asks ? `ask for ${HETZNER} here, without showing it, and ` : ""}try ${asks ? "it" : HETZNER} at ${world.endpoint}: read, make an SSH key, delete it`,
      changes: true,
      async carryOut() {
        const token = world.given[HETZNER] ?? (await world.terminal.secret(`  ${HETZNER}: `));
        checkSecrets({ ...secrets, [HETZNER]: token });
        await tryToken({ ...world, token, installation: installationOf(secrets, world) });
        secrets[HETZNER] = token;
      },
    },
  ];
}

/** Where only the token is replaced, the word is at Cloudflare alone, unless it still lies here. */
const installationOf = (secrets: Secrets, { given }: World): string | null =>
  secrets["INSTALLATION"] ?? given["INSTALLATION"] ?? null;

function prepareDatabase({ lacksDatabase, migrations }: Difference, { toml }: Wanted, { wrangler }: World): Step[] {
  const { name } = toml.database;
  const steps: Step[] = [];
  if (lacksDatabase)
    steps.push({
      describe: `create the D1 database ${name}`,
      changes: true,
      carryOut: async () => void (await demand(wrangler, ["d1", "create", name])),
    });
  if (migrations.length > 0)
    steps.push({
      describe: `migrate the database ${name}: ${migrations.length === 1 ? migrations[0] : `${migrations.length} migrations, to ${migrations.at(-1)}`}`,
      changes: true,
      carryOut: async () => void (await demand(wrangler, ["d1", "migrations", "apply", name, "--remote"])),
    });
  return steps;
}
