/** Machines under limits in euro, and what such a limit is told by. */
import * as z from "zod";
import type { PolicyEntry } from "../../src/auth/policy.ts";
import { createMayfly, minutes, servers, type Answer, type Mayfly } from "../mayfly.ts";

const BODY = { server_type: "cx23", region: "fsn1" };
/** An hour of cx23 in fsn1 costs 0.010472, of an IPv4 address 0.000952: together. */
export const HOURLY = 0.011424;

const refusal = z.object({
  code: z.literal("limit_money"),
  policy: z.string(),
  rule: z.string(),
  next: z.string(),
  figures: z.object({
    limit: z.number(),
    used: z.number(),
    asked: z.number(),
    unit: z.literal("EUR"),
    month: z.string().optional(),
  }),
  machines: z.array(
    z.object({ name: z.string(), owner: z.string(), expires_at: z.string(), cost_eur: z.number().nullable() }),
  ),
});
/** A refusal by such a limit. */
export const told = ({ status, body }: Answer) => ({ status, ...refusal.parse(body) });
/** Asks for a machine of {@link HOURLY}. */
export const put = (mayfly: Mayfly, name: string, token?: string, more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more }, token);
/** With these policies, MAX_EUR_PER_MONTH as it is by default, and a catalogue that is known. */
export async function limited(policies: readonly PolicyEntry[], settings: Record<string, string> = {}) {
  const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "", ...settings }, { policies });
  await mayfly.send("GET", "/v1/server_types");
  return mayfly;
}
/** The database is empty, and a while later new tokens are minted. */
export async function loseD1<T>(mayfly: Mayfly, mint: () => Promise<T>): Promise<T> {
  await mayfly.bindings.DB.batch(
    ["machines", "tokens", "settings", "charges", "charged_months"].map((table) =>
      mayfly.bindings.DB.prepare(`DELETE FROM ${table}`),
    ),
  );
  await minutes(mayfly, 35);
  return mint();
}
/** The most whole cents that do not let so many hours through. */
export const justUnder = (hours: number) => ((Math.ceil((hours * 11_424) / 10_000) - 1) / 100).toFixed(2);
/** What so many hours come to, as a limit that just lets them through. */
export const eur = (hours: number) => Number((hours * HOURLY).toFixed(6));

/** What comes of ten times twenty creates at once: the statuses, the machines that there are, and those that are left at the end. */
export async function tenTimesTwenty(mayfly: Mayfly, token: string, create: (name: string) => Promise<Answer>) {
  const rounds = [];
  for (let round = 0; round < 10; round++) {
    const names = Array.from({ length: 20 }, (_, index) => `r${round}-${index}`);
    const statuses = await Promise.all(names.map(async (name) => (await create(name)).status));
    const made = servers(mayfly).length;
    await mayfly.send("POST", "/v1/teardown", {}, token);
    await minutes(mayfly, 2);
    rounds.push({ statuses: statuses.toSorted((a, b) => a - b), made, left: servers(mayfly).length });
  }
  return rounds;
}
/** The same where two come to be each time. */
export const TWO_EACH = Array.from({ length: 10 }, () => ({
  statuses: [201, 201, ...Array.from({ length: 18 }, () => 429)],
  made: 2,
  left: 0,
}));
