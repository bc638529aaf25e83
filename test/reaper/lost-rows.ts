import { BODY, HOUR, machinesIn, MINUTE, NOW, OURS, type Mayfly } from "../mayfly.ts";

export const UID = "9c1d7e60-4b1f-4f3e-8a77-5e2f9b0c4d11";

/** A time as labels write it. */
export const seconds = (milliseconds: number) => String(Math.floor(milliseconds / 1000));
export const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();

export const put = (mayfly: Mayfly, name: string, more: object = {}, token?: string) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "5h", ...more }, token);
export const live = async (mayfly: Mayfly) => machinesIn(await mayfly.send("GET", "/v1/machines"));

/** As a machine of ours looks whose row was lost. */
export const lostRow = (name: string, uid: string, more: Record<string, string> = {}, age = HOUR) => ({
  name: `${name}-abcdefghijklm`,
  created: ago(age),
  labels: {
    ...OURS,
    "mayfly-uid": uid,
    "mayfly-owner": "tok.alice",
    "mayfly-name": name,
    "mayfly-expires": seconds(NOW + 2 * HOUR),
    "mayfly-max": seconds(NOW - age + 24 * HOUR),
    created: seconds(NOW - age),
    team: "red",
    ...more,
  },
});

const LOST = [
  "machines",
  "charges",
  "charged_months",
  "events",
  "sweeps",
  "settings",
  "tokens",
  "resources",
  "resource_uses",
  "reap_failures",
];

/** The loss of all that D1 holds. */
export async function loseD1(mayfly: Mayfly): Promise<void> {
  const { DB } = mayfly.bindings;
  await DB.batch([
    ...LOST.map((table) => DB.prepare(`DELETE FROM ${table}`)),
    DB.prepare("UPDATE locks SET first_sweep_at = NULL, reconcile = '{}', resources_listed_at = 0"),
  ]);
}

/** What `restore` sets the machines' rows back to. */
export const copyOf = async (mayfly: Mayfly) =>
  (await mayfly.bindings.DB.prepare("SELECT * FROM machines").all()).results;

/** Sets the machines' rows back to an older copy. */
export async function restore(mayfly: Mayfly, copy: readonly Record<string, unknown>[]): Promise<void> {
  const { DB } = mayfly.bindings;
  await DB.prepare("DELETE FROM machines").run();
  for (const row of copy) {
    const columns = Object.keys(row);
    const statement = `INSERT INTO machines (${columns.join(",")}) VALUES (${columns.map(() => "?").join(",")})`;
    await DB.prepare(statement)
      .bind(...Object.values(row))
      .run();
  }
}

/** What reports said of the reconcile phase, over some minutes. */
export async function reconciled(mayfly: Mayfly, count: number): Promise<string[]> {
  const said: string[] = [];
  for (let minute = 0; minute < count; minute++) {
    mayfly.advance(MINUTE);
    const report = await mayfly.tick();
    for (const { outcome, reason } of report?.phases.find(({ phase }) => phase === "reconcile")?.items ?? [])
      said.push(`${outcome} ${reason}`);
  }
  return said;
}
