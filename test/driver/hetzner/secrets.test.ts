import { describe, expect, it } from "vitest";
import type { Driver } from "../../../src/driver/driver.ts";
import { failureOf, spec } from "../contract/cloud.ts";
import { openCanned, openSimulated, serverJson, TOKEN, type Sent } from "./bench.ts";

const CLOUD_INIT = "#cloud-config\npassword: canary-<cloud>-init\n";
const PASSWORD = "canary-root-password";

const operations: [string, (driver: Driver) => Promise<unknown>][] = [
  ["create", (driver) => driver.create(spec({ cloudInit: CLOUD_INIT }))],
  ["get", (driver) => driver.get("42")],
  ["destroy", (driver) => driver.destroy("42")],
  ["list", (driver) => driver.list({})],
  ["priceEurPerHour", (driver) => driver.priceEurPerHour("fsn1", "cx23")],
];

/** Everything that a log could be given of an error. */
function textOf(error: Error): string {
  return [String(error), error.stack, JSON.stringify(error), JSON.stringify(Object.entries(error)), error.cause].join(
    "\n",
  );
}

/** All that was sent, as a careless proxy might quote it: cloud-init as it is, and within the JSON that carried it. */
function all({ headers, body }: Sent): string {
  const cloudInit = body === undefined ? "" : CLOUD_INIT;
  return `${headers.get("Authorization")} ${JSON.stringify(body)} ${cloudInit}`;
}

/** Ways to fail, each of which quotes what was sent. */
const failures: [string, (sent: Sent) => Response | Promise<Response>][] = [
  ["a connection that breaks", (sent) => Promise.reject(new TypeError(`cannot send ${all(sent)}`))],
  ["a refusal", (sent) => Response.json({ error: { code: "forbidden", message: all(sent) } }, { status: 403 })],
  ["an odd code", (sent) => Response.json({ error: { code: all(sent), message: "" } }, { status: 418 })],
  [
    "a refused field",
    (sent) => {
      const details = { fields: [{ name: all(sent), messages: [all(sent)] }] };
      return Response.json({ error: { code: "invalid_input", message: "", details } }, { status: 422 });
    },
  ],
  ["a page", (sent) => new Response(all(sent), { status: 500 })],
  ["an answer that cannot be read", (sent) => Response.json({ server: all(sent), servers: all(sent) })],
];

describe("secrets", () => {
  const cases = operations.flatMap(([operation, run]) =>
    failures.map(([failure, answer]) => ({ operation, run, failure, answer })),
  );

  it.each(cases)("S148: $operation on $failure tells neither the token nor cloud-init", async ({ run, answer }) => {
    // A DELETE is content with any 2xx, so there is nothing to tell.
    const outcome = await run(openCanned(answer).driver).catch((error: unknown) => error);
    const text = outcome instanceof Error ? textOf(outcome) : String(outcome);
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain("canary-<cloud>-init");
  });

  it("S148: what is hidden leaves the rest of the words in place", async () => {
    const { driver } = openCanned(() =>
      Response.json({ error: { code: "unauthorized", message: `token ${TOKEN} is revoked` } }, { status: 401 }),
    );
    const error = await failureOf(driver.get("42"));
    expect(error.message).toBe("the provider answered 401 unauthorized: token [hidden] is revoked");
  });

  it("S33: the root password of a create goes nowhere", async () => {
    const answer = {
      server: serverJson({ labels: spec().labels }),
      root_password: PASSWORD,
      action: {},
      next_actions: [],
    };
    const { driver } = openCanned(() => Response.json(answer, { status: 201 }));
    expect(JSON.stringify(await driver.create(spec()))).not.toContain(PASSWORD);
    const broken = openCanned(() => Response.json({ ...answer, server: null }, { status: 201 }));
    expect(textOf(await failureOf(broken.driver.create(spec())))).not.toContain(PASSWORD);
  });

  it("S33: a create without keys gets one, and the machine has no field for it", async () => {
    const { driver, sim } = openSimulated();
    const machine = await driver.create(spec());
    expect(sim.state().servers[0]?.ssh_keys).toEqual([]);
    expect(Object.keys(machine).filter((field) => /pass|root|data|init/i.test(field))).toEqual([]);
  });
});
