import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { guardRequest, hear, hearAnswer, refuseLeaks, takeLeaks } from "./canaries.ts";
import { createIssuer, GITHUB, githubClaims } from "./auth/issuer.ts";
import { BODY, createMayfly, NOW } from "./mayfly.ts";
import { ROOT_PASSWORD } from "./simulator/create-server.ts";

const SCRIPT = '#cloud-config\nruncmd:\n  - echo "hunter2 hunter2"\n';
const TABLES = ["machines", "tokens"];
const leaks = () => takeLeaks(env.DB, TABLES);

it("a leak is found in an answer, a header, a log line, a sweep's report and D1, and named", async () => {
  const mayfly = createMayfly({}, { profiles: { small: { cloud_init: "#!/bin/sh\nexport KEY=profile-secret" } } });
  const token = await mayfly.tokenOf("ann");
  const jwt = `eyJ${"a".repeat(20)}.b.c`;
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, cloud_init: SCRIPT }, token);
  await mayfly.send("GET", "/v1/machines", undefined, jwt);
  hearAnswer("GET /leak", new Headers({ "X-Leak": jwt }), JSON.stringify({ said: SCRIPT }));
  mayfly.runtime.log({ event: "error", error: `it was ${token}` });
  hear("a sweep's report", `export KEY=profile-secret ${ROOT_PASSWORD}`);
  await env.DB.prepare("UPDATE machines SET last_error = ?").bind(`${env.ADMIN_TOKEN} ${env.HCLOUD_TOKEN}`).run();
  expect(new Set(await leaks())).toEqual(
    new Set([
      "cloud_init is in the answer to GET /leak",
      "a JWT is in the headers of GET /leak",
      "a minted token is in the log",
      "a profile's cloud_init is in a sweep's report",
      "a root password is in a sweep's report",
      "ADMIN_TOKEN is in D1's table machines",
      "HCLOUD_TOKEN is in D1's table machines",
    ]),
  );
});

it.each<[string, (parts: readonly string[]) => string]>([
  ["its end", ([header = "", payload = "", signature = ""]) => [header, payload, signature.slice(0, -1)].join(".")],
  ["its header", ([, payload = "", signature = ""]) => `${payload}.${signature}`],
  ["all but its payload", ([, payload = ""]) => payload],
  ["all but its signature", ([, , signature = ""]) => signature],
])("a JWT without %s is a leak too", async (_, cut) => {
  const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
  const token = await issuer.sign(githubClaims(), NOW);
  guardRequest(undefined, token);
  hear("the log", cut(token.split(".")));
  expect(await leaks()).toEqual(["a JWT is in the log"]);
});

it("one line of a secret is a leak too, and a test that leaks fails", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, cloud_init: SCRIPT });
  hear("the log", JSON.stringify({ said: '  - echo "hunter2 hunter2"' }));
  await expect(refuseLeaks(env.DB, TABLES)).rejects.toThrow("secrets have leaked: cloud_init is in the log");
});

it("minting shows a token's secret, and nothing else may", async () => {
  const mayfly = createMayfly();
  const minted = await mayfly.send("POST", "/v1/tokens", { owner: "ann" });
  expect(minted.text).toContain('"secret":"mayfly_');
  expect(await leaks()).toEqual([]);
  await mayfly.send("POST", "/v1/tokens", { owner: "bob" });
  const secret = /mayfly_[\w-]+/.exec(minted.text)?.[0] ?? "";
  hearAnswer("POST /v1/tokens", new Headers(), JSON.stringify({ secret, again: secret }));
  expect(await leaks()).toEqual(["a minted token is in the answer to POST /v1/tokens"]);
});
