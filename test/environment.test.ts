import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { readSweepConfig } from "../src/config.ts";
import { oncePerEnvironment } from "../src/environment.ts";
import { createMayfly } from "./mayfly.ts";

/** The token of another version of the same deployment. */
const OTHER_TOKEN = "another-admin-token-of-these-tests-987654";

/** The status that the admin of `environment` is answered with, who knows `token`. */
function asking(mayfly: ReturnType<typeof createMayfly>, environment: Env) {
  return async (token: string): Promise<number> => {
    const context = createExecutionContext();
    const headers = { Authorization: `Bearer ${token}` };
    const { status } = await mayfly.app.request("/v1/whoami", { headers }, environment, context);
    await waitOnExecutionContext(context);
    return status;
  };
}

describe("what an environment says", () => {
  it("is read once, by the first request of all", async () => {
    const mayfly = createMayfly();
    let readings = 0;
    const environment = new Proxy(mayfly.bindings, {
      get(target, key: keyof Env) {
        if (key === "HCLOUD_ENDPOINT") readings += 1;
        return target[key];
      },
    });
    const ask = asking(mayfly, environment);
    for (let request = 0; request < 3; request++) expect(await ask(mayfly.bindings.ADMIN_TOKEN)).toBe(200);
    expect(readings).toBe(1);
  });

  it("says nothing of another environment, in which a secret may have been changed", async () => {
    const mayfly = createMayfly();
    const { bindings } = mayfly;
    const ask = asking(mayfly, bindings);
    const askOther = asking(mayfly, { ...bindings, ADMIN_TOKEN: OTHER_TOKEN });
    expect([await ask(bindings.ADMIN_TOKEN), await ask(OTHER_TOKEN)]).toEqual([200, 401]);
    expect([await askOther(bindings.ADMIN_TOKEN), await askOther(OTHER_TOKEN)]).toEqual([401, 200]);
    expect(await ask(bindings.ADMIN_TOKEN)).toBe(200);
  });

  it("is read once by sweeps too, which need less of it; another one, or one that could not be read, is read anew", () => {
    const read: Env[] = [];
    const installationOf = oncePerEnvironment((environment) => {
      read.push(environment);
      return readSweepConfig(environment).installations[0];
    });
    const { bindings } = createMayfly();
    const other = { ...bindings, INSTALLATION: "another-installation" };
    const broken = { ...bindings, MAX_AGE: "soon" };
    for (let tick = 0; tick < 2; tick++) {
      expect(installationOf(bindings)).toBe(bindings.INSTALLATION);
      expect(installationOf(other)).toBe("another-installation");
      expect(() => installationOf(broken)).toThrow("MAX_AGE");
    }
    expect(read).toEqual([bindings, other, broken, broken]);
  });

  it("is read again where it could not be used", async () => {
    const mayfly = createMayfly({ MAX_AGE: "soon" });
    const ask = asking(mayfly, mayfly.bindings);
    expect([await ask(mayfly.bindings.ADMIN_TOKEN), await ask(mayfly.bindings.ADMIN_TOKEN)]).toEqual([503, 503]);
  });
});
