// mayfly as somebody operates it: a shell with a recording wrangler, and a Worker that serves what that account and wrangler.toml say.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readToml, migrationsOf } from "../../scripts/deploy/toml.ts";
import { startStack, type Module, type Stack } from "../../scripts/stack.ts";
import { openAccount, type CloudflareAccount, type Said } from "./cloudflare-account.ts";
import { freePort, ROOT } from "./npm-start.ts";

/** Longer than any command of the page takes. */
const LIMIT_MS = 60_000;
const EVERY_SWEEP_MS = 1000;

/** Stand in for programs that would change this checkout, or find the real wrangler before the PATH's. */
const PROGRAMS: Readonly<Record<string, string>> = {
  git: 'echo "git $*" >>"$FAKE_WRANGLER/others"',
  npx: 'test "$1" = wrangler || exit 64\nshift\nexec wrangler "$@"',
  npm: `case $1 in
    ci) echo "npm ci" >>"$FAKE_WRANGLER/others" ;;
    run) script=$2; shift 3; exec "${ROOT}/node_modules/.bin/node" "scripts/$script.ts" "$@" ;;
    *) exit 64 ;;
  esac`,
  // The page waits ten seconds between looks; who looks on need not.
  sleep: "exec /bin/sleep 1",
};

export interface Operated {
  readonly cloudflare: CloudflareAccount;
  readonly url: string;
  stack(): Stack;
  /** A new account, cloud and database, with these secrets set and an older version served; `hooks` is that part of the configuration. */
  begin(secrets: Readonly<Record<string, string>>, hooks?: unknown): Promise<void>;
  /** Runs lines as somebody pastes them, then serves what has come of it. */
  shell(lines: string, env?: Readonly<Record<string, string>>): Promise<Said>;
  /** Writes these lines as all of `[vars]`. */
  vars(lines: string): Promise<void>;
  /** What was run of git and `npm ci`. */
  others(): Promise<string>;
  end(): Promise<void>;
}

export async function openOperated(): Promise<Operated> {
  const cloudflare = await openAccount();
  const bin = await mkdtemp(join(tmpdir(), "mayfly-programs-"));
  for (const [name, lines] of Object.entries(PROGRAMS)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${lines}\n`);
    await chmod(join(bin, name), 0o755);
  }
  const [port, simPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  let folder = "";
  let configuration = {};
  let modules: readonly Module[] | undefined;
  let stack: Stack | null = null;
  let ticking: NodeJS.Timeout | undefined;
  let served = "";

  async function stop(): Promise<void> {
    clearInterval(ticking);
    await stack?.stop();
    stack = null;
  }
  /** What a version at Cloudflare would be made of: what was deployed last. */
  async function serve(): Promise<void> {
    const { secrets, tags } = await cloudflare.see();
    const wanted = JSON.stringify([secrets, tags]);
    if (wanted === served) return;
    served = wanted;
    await stop();
    if (secrets === null) return;
    const { vars } = await readToml(cloudflare.copy.path);
    const started = await startStack({
      port,
      simPort,
      stateDir: folder,
      cloudFile: join(folder, "cloud.json"),
      settings: { ...vars, ...configuration, ...secrets },
      ...(modules && { modules }),
    });
    ({ modules } = started);
    stack = started;
    ticking = setInterval(() => void started.tick(Date.now()), EVERY_SWEEP_MS);
  }
  const environment = (env: Readonly<Record<string, string>>): NodeJS.ProcessEnv => {
    const base = cloudflare.environment({ HCLOUD_ENDPOINT: `http://127.0.0.1:${simPort}/v1`, MAYFLY: url, ...env });
    return { ...base, PATH: `${bin}:${base["PATH"]}`, HCLOUD_CONFIG: join(bin, "none.toml") };
  };
  return {
    cloudflare,
    url,
    stack() {
      if (stack === null) throw new Error("nothing is served");
      return stack;
    },
    async begin(secrets, hooks = {}) {
      await stop();
      if (folder !== "") await rm(folder, { recursive: true });
      folder = await mkdtemp(join(tmpdir(), "mayfly-operated-"));
      configuration = {
        POLICIES: JSON.stringify([{ name: "hooks" }]),
        PROFILES: JSON.stringify({ small: { server_type: "cx23", region: "fsn1", image: "debian-13" } }),
        ISSUERS: "[]",
        HOOKS: JSON.stringify(hooks),
      };
      await cloudflare.copy.writeVars("");
      await cloudflare.reset({ url });
      await mkdir(join(folder, "v3"));
      const applied = await migrationsOf(cloudflare.copy.path);
      await cloudflare.set({ databases: ["mayfly"], applied, secrets: { ...secrets }, tags: ["older"] });
      served = "";
      await serve();
    },
    async shell(lines, env = {}) {
      const said = await bash(lines, cloudflare.copy.path, environment(env));
      await serve();
      return said;
    },
    vars: (lines) => cloudflare.copy.writeVars(lines),
    others: () => readFile(join(environment({})["FAKE_WRANGLER"] ?? "", "others"), "utf8"),
    async end() {
      await stop();
      await cloudflare.remove();
      for (const one of [bin, folder]) if (one !== "") await rm(one, { recursive: true });
    },
  };
}

function bash(lines: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Said> {
  const args = ["--noprofile", "--norc", "-e", "-c", lines];
  return new Promise((resolve, reject) => {
    const child = execFile("bash", args, { cwd, env, timeout: LIMIT_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, output: stdout + stderr });
      else reject(error ?? new Error("bash did not end"));
    });
    child.stdin?.end();
  });
}
