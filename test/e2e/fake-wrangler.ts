// Stands in for wrangler on the PATH: does what is asked to an account that is a file, and records each command with its standard input.
// Commands that neither a deploy nor docs/operations.md needs are errors.
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";

/** All that it keeps. */
export const account = z.object({
  databases: z.array(z.string()),
  applied: z.array(z.string()),
  /** Null where there is no Worker. */
  secrets: z.record(z.string(), z.string()).nullable(),
  /** What is served, newest last. */
  tags: z.array(z.string()),
});
export type Account = z.infer<typeof account>;
export const EMPTY: Account = { databases: [], applied: [], secrets: null, tags: [] };

const order = z.object({
  /** Where the deployed Worker answers. */
  url: z.string(),
  isLoggedIn: z.boolean().default(true),
  accounts: z.number().default(1),
  /** The command that begins so is lost once: before it is carried out, or after it. */
  loses: z
    .object({ command: z.string(), when: z.enum(["before", "after"]) })
    .nullable()
    .default(null),
  bytes: z.number().default(1_000_000),
});
export type Order = z.input<typeof order>;

const REQUIRED = ["HCLOUD_TOKEN", "ADMIN_TOKEN", "INSTALLATION"];

function run(args: readonly string[], folder: string): void {
  const read = <T>(file: string, shape: z.ZodType<T>): T =>
    shape.parse(JSON.parse(readFileSync(`${folder}/${file}.json`, "utf8")));
  const rules = read("order", order);
  const state = read("account", account);
  const before = JSON.stringify(state);
  const command = args.join(" ");
  const input = stdinOf(args);
  const given = Object.keys(process.env).filter((name) => REQUIRED.includes(name));
  appendFileSync(`${folder}/calls`, `${JSON.stringify({ command, input, given })}\n`);
  const isLost = rules.loses !== null && command.startsWith(rules.loses.command) && !existsSync(`${folder}/lost`);
  if (isLost) writeFileSync(`${folder}/lost`, "");
  if (isLost && rules.loses?.when === "before") fail("the connection was lost");
  carryOut(args, command, input, state, rules);
  const after = JSON.stringify(state);
  if (after !== before) writeFileSync(`${folder}/account.json`, after);
  if (isLost) fail("the connection was lost");
}

function carryOut(
  args: readonly string[],
  command: string,
  input: string,
  state: Account,
  rules: z.infer<typeof order>,
) {
  const tell = (value: unknown): void => console.log(JSON.stringify(value, null, 2));
  if (command === "whoami --json") {
    if (!rules.isLoggedIn) fail('{"loggedIn":false}');
    const accounts = Array.from({ length: rules.accounts }, (_, index) => ({
      id: `id-${index}`,
      name: `name ${index}`,
    }));
    tell({ loggedIn: true, accounts });
  } else if (command === "d1 list --json") {
    tell(state.databases.map((name) => ({ uuid: `uuid-of-${name}`, name })));
  } else if (command.startsWith("d1 execute mayfly --remote --json --command SELECT name FROM d1_migrations")) {
    if (state.applied.length === 0) fail("no such table: d1_migrations: SQLITE_ERROR");
    tell([{ results: state.applied.map((name) => ({ name })), success: true }]);
  } else if (command === "secret list --format json") {
    if (state.secrets === null)
      fail('Worker "mayfly" not found.\n\nIf this is a new Worker, run `wrangler deploy` first.');
    tell(Object.keys(state.secrets).map((name) => ({ name, type: "secret_text" })));
  } else if (command === "deployments status --json") {
    tell({ versions: [{ version_id: `version-${state.tags.length}`, percentage: 100 }] });
  } else if (command.startsWith("versions view version-")) {
    tell({ id: args[2], annotations: { "workers/tag": state.tags.at(-1) } });
  } else if (command === "versions list --json") {
    tell(state.tags.map((_, index) => ({ id: idOf(index) })));
  } else if (command === "d1 info mayfly --json") {
    tell({ database_size: rules.bytes, rows_read_24h: 1000, rows_written_24h: 200 });
  } else if (command === "d1 create mayfly") {
    if (state.databases.includes("mayfly")) fail("A database with that name already exists");
    state.databases.push("mayfly");
  } else if (command === "d1 migrations apply mayfly --remote") {
    if (!state.databases.includes("mayfly")) fail("Couldn't find a D1 DB named 'mayfly'");
    state.applied = readdirSync("migrations").toSorted();
  } else if (args[0] === "deploy") {
    deploy(args, input, state, rules);
  } else if (!operate(args, command, input, state)) fail(`the fake knows no such command: ${command}`);
}

/** What people do by hand; false where it is none of that. */
function operate(args: readonly string[], command: string, input: string, state: Account): boolean {
  const tell = (value: unknown): void => console.log(JSON.stringify(value, null, 2));
  const [first, second, third = ""] = args;
  if (command.startsWith("secret put ") || command.startsWith("secret delete ")) {
    if (state.secrets === null) fail("there is no Worker of that name");
    const { [third]: old, ...others } = state.secrets;
    if (second === "delete" && old === undefined) fail(`there is no secret ${third}`);
    state.secrets = second === "put" ? { ...others, [third]: input.trimEnd() } : others;
  } else if (command === "versions list") {
    for (const [index, tag] of state.tags.entries()) console.log(`Version ID:  ${idOf(index)}\nTag:         ${tag}`);
  } else if (first === "rollback") {
    const tag = state.tags.find((_, index) => idOf(index) === second);
    if (tag === undefined) fail(`there is no version ${second}`);
    state.tags.push(tag);
  } else if (/^d1 time-travel (info|restore) mayfly --timestamp \S+$/.test(command)) {
    if (!state.databases.includes("mayfly")) fail("Couldn't find a D1 DB named 'mayfly'");
    tell({ bookmark: "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683" });
  } else if (command === "delete --force") {
    state.secrets = null;
    state.tags = [];
  } else if (command === "d1 delete mayfly --skip-confirmation") {
    state.databases = state.databases.filter((name) => name !== "mayfly");
    state.applied = [];
  } else return false;
  return true;
}

const idOf = (index: number): string => `${index}2345678-0000-4000-8000-000000000000`;

function deploy(args: readonly string[], input: string, state: Account, { url }: z.infer<typeof order>): void {
  const secrets = {
    ...state.secrets,
    ...(input === "" ? {} : z.record(z.string(), z.string()).parse(JSON.parse(input))),
  };
  const missing = REQUIRED.filter((name) => secrets[name] === undefined);
  if (missing.length > 0) fail(`The following required secrets have not been set: ${missing.join(", ")}`);
  state.secrets = secrets;
  state.tags.push(args[args.indexOf("--tag") + 1] ?? "");
  told({ type: "deploy", version: 1, targets: [url, "schedule: * * * * *"] });
}

/** What real wrangler reads by this name. */
function stdinOf(args: readonly string[]): string {
  if (args[0] === "secret" && args[1] === "put") return readFileSync(0, "utf8");
  const file = args[args.indexOf("--secrets-file") + 1] ?? "";
  return args.includes("--secrets-file") ? readFileSync(file, "utf8") : "";
}

const told = (event: object): void =>
  appendFileSync(process.env["WRANGLER_OUTPUT_FILE_PATH"] ?? "/dev/null", `${JSON.stringify(event)}\n`);

function fail(message: string): never {
  console.error(`✘ [ERROR] ${message}`);
  told({ type: "command-failed", version: 1, message });
  process.exit(1);
}

// Last, when all of the above is there.
if (process.argv[1]?.endsWith("fake-wrangler.ts")) run(process.argv.slice(2), process.env["FAKE_WRANGLER"] ?? "");
