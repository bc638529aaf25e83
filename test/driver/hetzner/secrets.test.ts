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

  /** Whatever twelve characters of a secret turn up in a text, in whatever way it is written. */
  function runsIn(text: string, secret: string): string[] {
    const json = JSON.stringify(secret).slice(1, -1);
    const forms = [secret, json, JSON.stringify(json).slice(1, -1), new TextEncoder().encode(secret).toBase64()];
    const runs = forms.flatMap((form) => Array.from({ length: form.length - 11 }, (_, at) => form.slice(at, at + 12)));
    return runs.filter((run) => text.includes(run));
  }

  const LONG_TOKEN = "Zx8kQp3Lw9Rt5Yv2Bn7Mc4Ds6Fg1HjAaEeIiOoUu0987654321qwertzuiopasdf";
  /** Ways in which an answer quotes a part of what it was sent. */
  const quotes: [string, (secret: string) => string][] = [
    ["its first half", (secret) => secret.slice(0, secret.length / 2)],
    ["its second half", (secret) => secret.slice(secret.length / 2)],
    ["twelve characters in its middle", (secret) => secret.slice(9, 21)],
    ["it in two pieces", (secret) => `${secret.slice(0, 15)}…${secret.slice(-15)}`],
    ["half of it in base64", (secret) => new TextEncoder().encode(secret).toBase64().slice(0, 30)],
    ["half of it within JSON", (secret) => JSON.stringify(secret).slice(1, 30)],
    ["half of it within JSON within JSON", (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, 40)],
  ];
  /** Ways in which an answer says it. */
  const ways: [string, (quote: string) => Response][] = [
    [
      "a 429",
      (quote) => Response.json({ error: { code: "rate_limit_exceeded", message: `for ${quote}.` } }, { status: 429 }),
    ],
    ["a code", (quote) => Response.json({ error: { code: quote, message: "" } }, { status: 418 })],
    [
      "a field",
      (quote) => {
        const details = { fields: [{ name: quote, messages: [`has ${quote}`] }] };
        return Response.json({ error: { code: "invalid_input", message: "", details } }, { status: 422 });
      },
    ],
    [
      "a limit",
      (quote) => {
        const details = { limits: [{ name: quote }] };
        return Response.json({ error: { code: "resource_limit_exceeded", message: "", details } }, { status: 403 });
      },
    ],
    [
      "a correlation id",
      (quote) => new Response("", { status: 500, headers: { "X-Correlation-Id": quote.replaceAll(/[^\w-]/g, "-") } }),
    ],
  ];
  const quoted = quotes.flatMap(([part, quote]) => ways.map(([way, say]) => ({ part, way, say, quote })));

  it.each(quoted)(
    "no run of twelve characters of the token gets out where $way quotes $part",
    async ({ say, quote }) => {
      const { driver } = openCanned(() => say(quote(LONG_TOKEN)), { token: LONG_TOKEN });
      expect(runsIn(textOf(await failureOf(driver.get("42"))), LONG_TOKEN)).toEqual([]);
    },
  );

  it.each(quoted)(
    "nor of cloud-init, also by the look that follows the create, where $way quotes $part",
    async ({ say, quote }) => {
      const { driver } = openCanned(({ method }) =>
        method === "POST" ? new Response(null, { status: 502 }) : say(quote(CLOUD_INIT)),
      );
      expect(runsIn(textOf(await failureOf(driver.create(spec({ cloudInit: CLOUD_INIT })))), CLOUD_INIT)).toEqual([]);
      expect(runsIn(textOf(await failureOf(driver.get("42"))), CLOUD_INIT)).toEqual([]);
      const refused = openCanned(() => say(quote(CLOUD_INIT)));
      const failure = await failureOf(refused.driver.create(spec({ cloudInit: CLOUD_INIT })));
      expect(runsIn(textOf(failure), CLOUD_INIT)).toEqual([]);
    },
  );

  it("of a refused create with cloud-init the provider's code and field are kept, and none of its words", async () => {
    const details = { fields: [{ name: "user_data", messages: ["line 3: s3cret!"] }] };
    const { driver } = openCanned(() =>
      Response.json({ error: { code: "invalid_input", message: "bad line: s3cret!", details } }, { status: 422 }),
    );
    const failure = await failureOf(driver.create(spec({ cloudInit: CLOUD_INIT })));
    expect(failure.message).toBe("the provider answered 422 invalid_input");
    expect(failure.problem).toEqual({ field: "cloud_init", rule: "is refused by the provider" });
    // Of one without, the words are worth reading.
    expect((await failureOf(driver.create(spec()))).message).toContain("bad line");
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
