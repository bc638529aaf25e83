import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { guardRequest, hear, takeLeaks } from "../canaries.ts";
import { createCallers } from "../auth/callers.ts";
import { createIssuer, GITHUB, githubClaims, GITLAB, gitlabClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, mintedIn, MINUTE, servers } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };

  });
});

describe("a JWT", () => {
  it("that was made ten years ago for twenty years is not taken", async () => {
    const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
    const callers = await createCallers({ issuer });
    const s = Math.floor(callers.mayfly.now() / 1000);
    const year = 31_536_000;
    const answer = await callers.ask(githubClaims({ iat: s - 10 * year, nbf: s - 10 * year, exp: s + 10 * year }));
    expect(answer.status).toBe(401);
  });
});

