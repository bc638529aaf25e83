// Says, before `npm run dev` starts plain `wrangler dev`, what that drives and what it leaves undone: it would do both in silence.
import { isLocal } from "../src/config.ts";
import { readDevVars } from "./vars.ts";

const STATE = ".wrangler/state-dev";
const SWEEP = `curl "http://127.0.0.1:8787/__scheduled?cron=*+*+*+*+*"`;

const { vars, required } = await readDevVars();
const isSet = (name: string): boolean => (vars[name] ?? "") !== "";
const endpoint = vars["HCLOUD_ENDPOINT"] || "https://api.hetzner.cloud/v1";
const missing = required.filter((name) => !isSet(name)).join(", ");
const what = isLocal({ hcloudEndpoint: endpoint })
  ? endpoint
  : `the real API, ${endpoint}, with the HCLOUD_TOKEN of .dev.vars or the environment: machines cost money`;

console.log(`npm run dev drives ${what}. \`npm start\` brings a simulated one.
No cron ticks here: nothing is destroyed at its end until you run a sweep: ${SWEEP}
Its database is in ${STATE}; migrate it once: npx wrangler d1 migrations apply DB --local --persist-to ${STATE}`);
if (missing !== "")
  console.log(
    `Not set: ${missing}. All calls are answered 503 misconfigured, and sweeps fail, until .dev.vars has them.`,
  );
