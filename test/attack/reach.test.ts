import { describe, expect, it } from "vitest";
import { exportJWK, generateKeyPair } from "jose";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { sha256Hex } from "../../src/auth/hash.ts";
import { identifyClaims } from "../../src/auth/oidc.ts";
import { createCallers } from "../auth/callers.ts";
import { createIssuer, gitlabClaims, GITHUB, githubClaims } from "../auth/issuer.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, LOCAL, MINUTE, minutes, NOW, servers, type Mayfly } from "../mayfly.ts";

const at = (count: number) => new Date(NOW + count * 60_000).toISOString();
const lastLog = ({ logs }: Mayfly) => logs.findLast(({ event }) => event === "request");

describe("issuers", () => {
  it("whose short hash is the same are refused, or else their callers have one owner", async () => {
    const urls = ["https://gitlab-16690.example.com", "https://gitlab-57826.example.com"];
    const hashes = await Promise.all(urls.map(sha256Hex));
    expect(hashes[0]?.slice(0, 8)).toBe(hashes[1]?.slice(0, 8));
    const configuration: Configuration = {
      issuers: urls.map((url, index) => ({ name: `lab${index}`, url, kind: "gitlab" as const })).map((one, i) => ({ ...one, name: i === 0 ? "ours" : "theirs" })),
      policies: [
        { name: "ours", issuer: "ours", claims: { project_id: "20" } },
        { name: "theirs", issuer: "theirs", claims: { project_id: "20" } },
      ],
    };
    let owners: unknown[] = [];
    try {
      const { issuers, policies } = readDeployment(configuration, false);
      const found = await Promise.all(issuers.filter(({ url }) => urls.includes(url)).map((one) => identifyClaims(one, gitlabClaims(), policies)));
      owners = found.map((one) => (one.ok ? one.principal.owner : null));
    } catch {
      return;
    }
    expect(new Set(owners).size).toBe(2);
  });
});

