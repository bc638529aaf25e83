// `npm run configuration`, and before every deploy: fails, with one sentence, where mayfly.config.ts, or a file that is named,
// cannot be used.
import { verifyDeployment } from "../src/deployment.ts";
import { loadConfiguration } from "./configuration.ts";

try {
  // Judged as deployed, where nothing is on this machine.
  const { policies, profiles } = await verifyDeployment(await loadConfiguration(process.argv[2]), false);
  console.log(`configuration: ${policies.length} policies, ${profiles.size} profiles`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
