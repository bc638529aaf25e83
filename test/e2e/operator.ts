// What an operator does and sees, for the tests of docs/operations.md: its steps by section and number, calls with the admin token, and the cloud.
import { createHmac, randomBytes } from "node:crypto";
import * as z from "zod";
import type { Said } from "./cloudflare-account.ts";
import type { Operated } from "./operated.ts";
import type { Page } from "./operations-page.ts";

/** The admin's, at the beginning of each test. */
export const TOKEN = "admin-of-the-operations-page-0123456789";
export const MINUTE = 60_000;
const minted = z.looseObject({ token: z.looseObject({ id: z.string(), secret: z.string() }) });
const listed = z.looseObject({ machines: z.array(z.looseObject({ name: z.string(), owner: z.string() })) });

/** `mayfly` is asked at each step for what is operated. */
export function createOperator(page: Page, mayfly: () => Operated) {
  /** The blocks that were used, by section and number. */
  const used = new Set<string>();

  async function call(method: string, path: string, body?: unknown, token = TOKEN) {
    const answer = await fetch(mayfly().url + path, {
      method,
      headers: { Authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
  }
  /** Does what a section says there, counted from 1: runs its lines, or puts its settings into wrangler.toml. */
  async function follow(section: string, number: number, env: Record<string, string> = {}): Promise<Said> {
    const block = page.sections.get(section)?.[number - 1];
    if (block === undefined) throw new Error(`${section} has no block ${number}`);
    used.add(`${section} ${number}`);
    if (block.language === "sh") return mayfly().shell(block.text, { TOKEN, ...env });
    const lines = block.text.replaceAll(/\$(\w+)/g, (_, name: string) => env[name] ?? "");
    await mayfly().vars(lines);
    return { code: 0, output: "" };
  }
  async function succeed(section: string, number: number, env?: Record<string, string>): Promise<string> {
    const { code, output } = await follow(section, number, env);
    if (code !== 0) throw new Error(`${section} ${number} ended with ${code}: ${output}`);
    return output;
  }
  const cloud = () => mayfly().stack().simulator?.controls.state();
  const servers = () => cloud()?.servers ?? [];
  const minutesLater = async (minutes: number, step = 1) => {
    const begin = Date.now();
    for (let minute = step; minute <= minutes; minute += step)
      await mayfly()
        .stack()
        .tick(begin + minute * MINUTE);
  };
  /** As somebody does it in the console, or as another project shows none of them. */
  const loseServers = async () => {
    const options = { method: "DELETE", headers: { Authorization: "Bearer any" } };
    for (const { id } of servers()) await fetch(`${mayfly().stack().simulator?.url}/v1/servers/${id}`, options);
  };
  const machines = async (query = "") => listed.parse((await call("GET", `/v1/machines${query}`)).body).machines;
  const mint = async (owner: string) => minted.parse((await call("POST", "/v1/tokens", { owner })).body).token;
  const health = async () => (await fetch(`${mayfly().url}/healthz`)).text();
  /** What a signed event that asks for nothing much is answered. */
  async function event(secret: string): Promise<number> {
    const [id, time] = [`msg_${randomBytes(8).toString("hex")}`, String(Math.floor(Date.now() / 1000))];
    const body = JSON.stringify({ type: "machine.destroy", data: { name: "none" } });
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
    const headers = { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${signature}` };
    return (await fetch(`${mayfly().url}/v1/hooks/preview`, { method: "POST", headers, body })).status;
  }

  return { call, cloud, event, follow, health, loseServers, machines, mint, minutesLater, servers, succeed, used };
}
