import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { makeCopy, type Copy } from "./copy.ts";
import { freePort, npmStart, type Started } from "./npm-start.ts";
import { alive, tree } from "./processes.ts";

const shell = promisify(execFile);

describe("npm start", () => {
  let copy: Copy;
  let started: Started | undefined;
  const start = async (env: Record<string, string> = {}) => (started = await npmStart(env, copy.path));
  beforeAll(async () => {
    copy = await makeCopy();
  });
  afterAll(() => copy.remove());
  afterEach(async () => {
    await started?.clear();
    started = undefined;
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "prints three lines that work, and %s leaves no process behind",
    async (signal) => {
      const { child, output } = await start();
      expect(output).toMatch(/^mayfly ready on http:\/\/127\.0\.0\.1:\d+$/m);
      expect(output).toMatch(/^Try it:$/m);
      expect(output).toMatch(/^ {2}policies {5}none: /m);
      const lines = output.split("\n").flatMap((line) => /^\s*(curl .*)$/.exec(line)?.[1] ?? []);
      expect(lines).toHaveLength(3);
      const answers: string[] = [];
      for (const line of lines)
        answers.push((await shell("sh", ["-c", line.replace("curl", "curl -sS --fail-with-body")])).stdout);
      expect(answers[0]).toContain('"status":"creating"');
      expect(answers[1]).toContain('"name":"first"');
      expect(answers[2]).toContain('"status":"destroyed"');

      const pids = tree(child.pid ?? 0);
      expect(pids.length).toBeGreaterThan(1);
      const exited = new Promise((resolve) => child.once("exit", resolve));
      // As a terminal does it: to the whole foreground group at once, or as a supervisor does it: to npm alone.
      child.kill(signal);
      await exited;
      await expect.poll(() => alive(pids), { timeout: 10_000 }).toEqual([]);
    },
  );

  it("ignores a Hetzner token in the shell, and says so", async () => {
    const { child, output } = await start({ HCLOUD_TOKEN: "real-looking-token", CRON: "off" });
    expect(output).toContain("HCLOUD_TOKEN is set and ignored");
    expect(output).toContain("off (CRON=off)");
    expect(output).not.toContain("real-looking-token");
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  });

  const policies = (repository_id: string) =>
    JSON.stringify([{ name: "ci", issuer: "github", claims: { repository_id } }]);
  it.each<[string, Record<string, string>]>([
    ["PORT must be a port from 0 to 65535", { PORT: "99999" }],
    ["MAX_AGE must be a whole number and a unit", { MAX_AGE: "banana" }],
    ["REAL_HETZNER=yes needs HCLOUD_TOKEN", { REAL_HETZNER: "yes", HCLOUD_TOKEN: "" }],
    ["POLICIES must be JSON", { POLICIES: "[" }],
    ["OIDC_AUDIENCE must be set", { POLICIES: policies("1") }],
    [
      "policies.ci.claims.repository_id must be spelt out, without `*`",
      { POLICIES: policies("*"), OIDC_AUDIENCE: "mayfly" },
    ],
  ])("says in plain words what keeps it from starting: %s", async (sentence, settings) => {
    await expect(start(settings)).rejects.toThrow(sentence);
  });

  it.each(["SIM_PORT", "PORT"])("says that a port is taken: %s", async (name) => {
    const taken = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => taken.listen(port, "127.0.0.1", resolve));
    await expect(start({ [name]: String(port) })).rejects.toThrow(`127.0.0.1:${port}: the port is taken`);
    taken.close();
  });

  it("takes policies and profiles by their names, and its Worker goes by them", async () => {
    const { url, output } = await start({
      CRON: "off",
      ADMIN_TOKEN: "admin-of-this-test",
      POLICIES: JSON.stringify([{ name: "default", only_profiles: true }]),
      PROFILES: JSON.stringify({ small: { server_type: "cx23", region: "fsn1" } }),
    });
    const put = async (body: object) => {
      const headers = { Authorization: "Bearer admin-of-this-test" };
      return (await fetch(`${url}/v1/machines/a`, { method: "PUT", headers, body: JSON.stringify(body) })).status;
    };
    expect(await put({ server_type: "cx23", region: "fsn1" })).toBe(403);
    expect(await put({ profile: "small" })).toBe(201);
    // The lines to try may be refused under it.
    expect(output).toMatch(/^Try it \(your policy `default` holds for the admin, too: .*\):$/m);
  });
});
