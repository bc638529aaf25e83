import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { leave } from "../behind.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, MINUTE, type Mayfly } from "../mayfly.ts";
import { counting } from "../rows.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const FIREWALL = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
/** What is refused, and what was done before it. */
interface Refused {
  readonly code: string;
  readonly call: readonly [method: string, path: string, body?: unknown];
  readonly given?: (mayfly: Mayfly, token: string) => Promise<unknown>;
}
const put = (body: object = BODY, name = "new") => ["PUT", `/v1/machines/${name}`, body] as const;
/** The last answer of the provider's said that only the reserve is left. */
async function reserve(mayfly: Mayfly): Promise<void> {
  leave(mayfly, 9);
  await mayfly.tick();
}

const REFUSED: Record<string, Refused> = {
  "a body that breaks a rule": { code: "invalid_input", call: put({ ...BODY, ttl: "forever" }) },
  "a type that the catalogue does not have": { code: "invalid_input", call: put({ ...BODY, server_type: "cx99" }) },
  "a firewall that is not there": { code: "invalid_input", call: put({ ...BODY, firewalls: ["none"] }) },
  "what the policy forbids": { code: "forbidden", call: put({ ...BODY, server_type: "cx33" }) },
  "a lease that it forbids": { code: "limit_lease", call: put({ ...BODY, ttl: "10h" }) },
  "one machine too many": {
    code: "limit_count",
    call: put(),
    given: (mayfly, token) => mayfly.send(...put(BODY, "second"), token),
  },
  "what would cost too much": {
    code: "limit_money",
    call: put(),
    given: async (mayfly) => mayfly.configure({ MAX_EUR_PER_MONTH: "0.02" }),
  },
  "a name that was given up": {
    code: "released",
    call: put(),
    given: (mayfly, token) => mayfly.send("DELETE", "/v1/machines/new?tombstone=1h", undefined, token),
  },
  "a create while they are off": {
    code: "creates_off",
    call: put(),
    given: async (mayfly) => mayfly.configure({ CREATES: "off" }),
  },
  "another body under a name": { code: "spec_mismatch", call: put({ ...BODY, image: "ubuntu-24.04" }, "first") },
  "a create over the rate of the account": {
    code: "limit_rate",
    call: put(),
    given: async (mayfly) => mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0) }),
  },
  "a create below the provider's reserve": { code: "provider_unavailable", call: put(), given: reserve },
  "one with a firewall and a key below it": {
    code: "provider_unavailable",
    call: put({ ...BODY, firewalls: [FIREWALL], ssh_keys: [KEY_A] }),
    given: reserve,
  },
  "a firewall below it": {
    code: "provider_unavailable",
    call: ["POST", "/v1/firewalls", { name: "new", ...FIREWALL }],
    given: reserve,
  },
  "a firewall under a name that another has": {
    code: "spec_mismatch",
    call: ["POST", "/v1/firewalls", { name: "web", deny_all: true }],
  },
  "a renewal past its bound": {
    code: "limit_lease",
    call: ["POST", "/v1/machines/first/renew", { ttl: "10h" }],
    given: (mayfly, token) => mayfly.send("POST", "/v1/machines/first/renew", { ttl: "2h" }, token),
  },
  "a renewal of none": { code: "not_found", call: ["POST", "/v1/machines/none/renew", { ttl: "1h" }] },
};

it.each(Object.entries(REFUSED))(
  "a call that is refused without the provider being asked writes no row: %s",
  async (_what, { code, call, given }) => {
    const policies = [{ name: "small", machines: 2, server_types: ["cx23", "cx99"], longest: "2h" }];
    const mayfly = createMayfly({}, { policies });
    const token = await mayfly.tokenOf("alice", { policy: "small" });
    await mayfly.send("GET", "/v1/server_types", undefined, token);
    await mayfly.send(...put(BODY, "first"), token);
    await mayfly.send("POST", "/v1/firewalls", { name: "web", ...FIREWALL }, token);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    await given?.(mayfly, token);
    const asked = mayfly.simulator.requests().length;
    const { db, rows } = counting(env.DB);
    mayfly.configure({ DB: db });
    for (let time = 0; time < 2; time++) expect((await mayfly.send(...call, token)).body).toMatchObject({ code });
    expect(mayfly.simulator.requests()).toHaveLength(asked);
    expect(rows.read).toBeGreaterThan(0);
    expect(rows.written).toBe(0);
  },
);
