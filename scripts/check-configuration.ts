// `npm run configuration`, and before every deploy: fails, with one sentence, where mayfly.config.ts, or a file that is named,
// cannot be used, or a setting beside it. Judged as the Worker will judge it.
import { checkShortHashes } from "../src/auth/issuers.ts";
import { readConfig } from "../src/config.ts";
import { createDeployments } from "../src/deployment.ts";
import { loadConfiguration, tooLong } from "./configuration.ts";
import { readVars } from "./vars.ts";

/** Secrets are not here to be read: these are like some that can be used. */
const SECRETS = { HCLOUD_TOKEN: "t".repeat(64), ADMIN_TOKEN: "a".repeat(48), INSTALLATION: "i".repeat(32) };

const count = (number: number, one: string, more: string): string => `${number} ${number === 1 ? one : more}`;

try {
  const { OIDC_AUDIENCE } = process.env;
  const settings = { ...SECRETS, ...(OIDC_AUDIENCE === undefined ? {} : { OIDC_AUDIENCE }), ...(await readVars()) };
  const config = readConfig(settings);
  const deployment = createDeployments(await loadConfiguration(process.argv[2]))(settings, config);
  await checkShortHashes(deployment.issuers);
  const { policies, profiles } = deployment;
  console.log(
    `configuration: ${count(policies.length, "policy", "policies")}, ${count(profiles.size, "profile", "profiles")}`,
  );
  for (const note of tooLong(deployment, config)) console.log(note);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
