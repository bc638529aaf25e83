import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeCopy, type Copy } from "./copy.ts";
import { ROOT } from "./npm-start.ts";

/** What `npm run dev` says before wrangler begins; wrangler itself is not started. */
function said(cwd: string, env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(`${ROOT}/node_modules/.bin/node`, ["scripts/dev.ts"], { cwd, env: { ...process.env, ...env } });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", reject);
    child.once("close", () => resolve(output));
  });
}

describe("npm run dev", () => {
  let copy: Copy;
  beforeAll(async () => {
    copy = await makeCopy();
    await copy.writeVars('HCLOUD_ENDPOINT = "https://api.hetzner.cloud/v1"');
  });
  afterAll(() => copy.remove());

  it("says that it drives the real API, that nothing ticks, and where its database is", async () => {
    await copy.write(".dev.vars", "HCLOUD_TOKEN=secret-one\nADMIN_TOKEN=secret-two\nINSTALLATION=secret-three\n");
    const output = await said(copy.path);
    expect(output).toMatch(
      /^npm run dev drives the real API, https:\/\/api\.hetzner\.cloud\/v1, .*machines cost money/m,
    );
    expect(output).toMatch(/^No cron ticks here: .*__scheduled/m);
    expect(output).toContain("--persist-to .wrangler/state-dev");
    expect(output).not.toMatch(/secret-|Not set/);
  });

  it("says which secrets are missing, and what comes of that", async () => {
    await copy.write(".dev.vars", "ADMIN_TOKEN=secret-two\nINSTALLATION=\n");
    expect(await said(copy.path)).toMatch(/^Not set: HCLOUD_TOKEN, INSTALLATION\. .*503 misconfigured/m);
  });

  it("does not call real what runs on this machine", async () => {
    await copy.write(".dev.vars", "HCLOUD_ENDPOINT=http://127.0.0.1:8788/v1\n");
    expect(await said(copy.path)).toMatch(/^npm run dev drives http:\/\/127\.0\.0\.1:8788\/v1\./m);
  });
});
