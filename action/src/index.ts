/**
 * A machine for a job of GitHub Actions. This is all three parts of it: `main` gets the machine, a process beside the job renews it, and `post`
 * ends it. What `post` needs is kept before the first call, so that whatever happens in between is cleared away.
 */
import { main } from "./main.ts";
import { post } from "./post.ts";
import { renew, RENEWING } from "./renew.ts";
import { openRunner } from "./runner.ts";

const runner = openRunner(process.env, (line) => void process.stdout.write(`${line}\n`));
const renewing = process.env[RENEWING];
const script = process.argv[1] ?? "";

try {
  if (renewing !== undefined) await renew(runner, renewing);
  else if (process.env["MAYFLY_PART"] === "post") await post(runner);
  else await main(runner, script);
} catch (error) {
  runner.fail(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
