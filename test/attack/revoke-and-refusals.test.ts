import { describe, expect, it } from "vitest";
import * as z from "zod";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { blockOf } from "../../src/machine/ip-range.ts";
import { createCallers } from "../auth/callers.ts";
import { githubClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, LOCAL, machineIn, minutes, mintedIn, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

describe("what a refusal tells", () => {
  it("of the profiles only those that the policy lets its callers name", async () => {
    const mayfly = createMayfly(
      {},
      {
        policies: [{ name: "default", profiles: ["small*"] }],
        profiles: { small: BODY, "payroll-prod": BODY },
      },
    );
    const answer = await mayfly.send("PUT", "/v1/machines/box", { profile: "small-2" });
    expect(answer.text).not.toContain("payroll");
  });

  it("a stranger whose ids no policy means cannot find out by trying what a policy wants", async () => {
    const configuration: Configuration = {
      policies: [
        { name: "one", issuer: "github", claims: { repository_id: "1" } },
        { name: "deploy", issuer: "github", claims: { repository_id: "2", environment: "prod-eu-7" } },
      ],
    };
    const callers = await createCallers({ configuration });
    const toldFor = async (environment: string) => {
      const { body } = await callers.ask(githubClaims({ repository_id: "666", environment }));
      return z.object({ policy: z.string() }).parse(body).policy;
    };
    expect(await toldFor("prod-eu-7")).toBe(await toldFor("prod-eu-8"));
  });
});

describe("a configuration", () => {
  const read = (text: string) => () => readDeployment(JSON.parse(text), false);
  it.each([
    ["claims", '{"policies":[{"name":"a","issuer":"github","claims":{"repository_id":"74","__proto__":"x"}}]}'],
    ["policy", '{"policies":[{"name":"a","__proto__":{"needs_firewall":true}}]}'],
    ["profiles", '{"profiles":{"__proto__":{"server_type":"cx23"}}}'],
    ["profile", '{"profiles":{"a":{"server_type":"cx23","__proto__":{"x":"cx23"}}}}'],
    ["labels", '{"profiles":{"a":{"labels":{"__proto__":"x"}}}}'],
    ["whole", '{"__proto__":[]}'],
    ["issuer", '{"issuers":[{"name":"a","url":"https://a.example","kind":"gitlab","__proto__":{}}]}'],
  ])("with a key that would be dropped is refused: %s", (_, text) => {
    expect(read(text)).toThrow();
  });
});

describe("an address", () => {
  it("that is IPv4 in IPv6's form is counted by itself", () => {
    expect(blockOf("::ffff:192.0.2.1")).not.toBe(blockOf("::ffff:198.51.100.7"));
  });
  it("is counted the same however it is written", () => {
    expect(blockOf("2001:DB8:0:7::1")).toBe(blockOf("2001:db8:0:7::2"));
    expect(blockOf("2001:0db8:0000:0007:0::1")).toBe(blockOf("2001:db8:0:7::2"));
  });
});
