import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { npmStart, ROOT, type Started } from "./npm-start.ts";

const execute = promisify(execFile);
const page = await readFile(join(ROOT, "docs/first-day.md"), "utf8");
const helper = /```bash\n(.*?)```/s.exec(page)?.[1] ?? "";

/** A command of the page, and the answer that stands below it. */
interface Exchange {
  readonly command: string;
  readonly answer: string;
}

const EXCHANGES: readonly Exchange[] = [...page.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block = ""]) =>
  block
    .split(/^\$ /m)
    .filter((text) => text !== "")
    .map((text) => {
      const [command = "", ...answer] = text.trimEnd().split("\n");
      return { command, answer: answer.join("\n") };
    }),
);

/** The status, and the JSON before it, of which the page may leave fields out. */
function read(answer: string): { readonly status: string; readonly body: unknown } {
  const lines = answer.trim().split("\n");
  const status = lines.pop() ?? "";
  const text = lines.join("").replaceAll(/, …(?=[\]}])/g, "");
  return { status, body: text === "" ? null : JSON.parse(text) };
}

describe("docs/first-day.md", () => {
  let started: Started;
  beforeAll(async () => {
    started = await npmStart({ ADMIN_TOKEN: "first-day-admin", CRON: "off" });
  }, 120_000);
  afterAll(() => started.clear());

  it("has conversations", () => {
    expect(EXCHANGES.length).toBeGreaterThan(20);
  });

  it.each(EXCHANGES)("$command", async ({ command, answer }) => {
    const env = { ...process.env, MAYFLY: started.url, TOKEN: "first-day-admin" };
    const { stdout } = await execute("bash", ["-c", `${helper}\n${command}`], { env });
    expect(read(stdout)).toMatchObject(read(answer));
  });
});
