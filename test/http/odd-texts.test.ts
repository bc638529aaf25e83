import { describe, expect, it } from "vitest";
import { BODY, createMayfly, type Mayfly } from "../mayfly.ts";

/** Texts that some layer below might trip over. */
const ODD = [
  "\ud800",
  "\u0000",
  "a\u0000b",
  "__proto__",
  "constructor",
  "toString",
  "",
  " ",
  "\u2028",
  "𝟜",
  "x".repeat(70_000),
  "%s",
  "null",
];
const CREATE_TEXTS = ["server_type", "region", "arch", "image", "profile", "ttl", "cloud_init", "keep_on_failure"];
const rule = { direction: "in", protocol: "tcp", port: "22" };

/** Each place where a caller says a text, with this one. */
function* callsWith(text: string): Generator<readonly [method: string, path: string, body?: unknown]> {
  const bodies = [
    ...CREATE_TEXTS.map((key) => ({ [key]: text })),
    { image: { label_selector: text } },
    { labels: { a: text } },
    { ssh_keys: [text] },
    { ssh_keys: [`ssh-ed25519 ${text}`] },
    { firewalls: [text] },
    { networks: [{ ip_range: text }] },
    { firewalls: [{ rules: [{ ...rule, port: text }] }] },
    { firewalls: [{ rules: [{ ...rule, source_ips: [text] }] }] },
  ];
  for (const body of bodies) yield ["PUT", "/v1/machines/box", { ...BODY, ...body }];
  // As text, because a key like `__proto__` is lost in a literal.
  yield ["PUT", "/v1/machines/box", `{"server_type":"cx23","region":"fsn1","labels":{${JSON.stringify(text)}:"a"}}`];
  yield ["POST", "/v1/firewalls", { name: text, deny_all: true }];
  yield ["POST", "/v1/networks", { name: "n", ip_range: text, region: text }];
  yield ["POST", "/v1/ssh_keys", { name: "n", public_key: text }];
  yield ["POST", "/v1/tokens", { owner: text }];
  yield ["POST", "/v1/tokens", { owner: "a", policy: text }];
  yield ["POST", "/v1/tokens", { owner: "a", note: text }];
  yield ["POST", "/v1/machines/none/renew", { ttl: text }];
  const inPath = encodeURIComponent(text.slice(0, 100).toWellFormed());
  yield ["POST", `/v1/holds/${inPath}/release`];
  yield ["DELETE", `/v1/tokens/${inPath}`];
  yield ["GET", `/v1/whoami?owner=${inPath}`];
  yield ["GET", `/v1/machines?label_selector=${inPath}`];
}

const anyMayfly = () =>
  createMayfly({}, { policies: [{ name: "default", server_types: ["*"], images: ["**"] }], profiles: { small: BODY } });

async function expectNoFault(mayfly: Mayfly, [method, path, body]: readonly [string, string, unknown?]): Promise<void> {
  const { status, text } = await mayfly.send(method, path, body);
  expect(status, `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}: ${text.slice(0, 200)}`).toBeLessThan(500);
}

describe("is no fault of ours", () => {
  it.each(ODD.map((text) => [JSON.stringify(text).slice(0, 30), text] as const))(
    "the text %s, wherever it is said",
    async (_, text) => {
      const mayfly = anyMayfly();
      for (const call of callsWith(text)) await expectNoFault(mayfly, call);
    },
  );

  it("a body that is deep, or another kind of JSON", async () => {
    const mayfly = anyMayfly();
    const bodies = ["[".repeat(120_000), '{"a":'.repeat(50_000), "[]", "null", "1", '"x"', '{"server_type":[["a"]]}'];
    const paths = ["/v1/teardown", "/v1/tokens", "/v1/firewalls", "/v1/sweeps", "/v1/machines"];
    for (const body of bodies) for (const path of paths) await expectNoFault(mayfly, ["POST", path, body]);
  });
});
