import { describe, expect, it } from "vitest";
import { readConfig, readSweepConfig, SETTINGS, type Config } from "../src/config.ts";
import { createProviders } from "../src/providers.ts";
import { DAY, HOUR, MINUTE } from "./machine/fixtures.ts";
import { refusalOf } from "./misconfigured.ts";

type Settings = Record<string, unknown>;
const ADMIN = "admin-token-of-32-characters-or-more";
const NEEDED = { HCLOUD_TOKEN: "token", INSTALLATION: "installation-of-ours", ADMIN_TOKEN: ADMIN };
const LOCAL = "http://127.0.0.1:8788/v1";
const read = (settings: Settings = {}): Config => readConfig({ ...NEEDED, ...settings });

/** Every bad value below contains it, so that a message which repeats the value gives itself away. */
const CANARY = "canary";

describe("by default", () => {
  it("only the three secrets are needed", () => {
    expect(read()).toEqual({
      provider: "hetzner",
      hcloudToken: "token",
      hcloudEndpoint: "https://api.hetzner.cloud/v1",
      installations: ["installation-of-ours"],
      maxAgeMs: DAY,
      graceMs: 10 * MINUTE,
      launchDeadlineMs: 15 * MINUTE,
      plan: "free",
      keepHistoryMs: 30 * DAY,
      adminToken: ADMIN,
      defaultTtlMs: HOUR,
      creates: true,
      maxMachines: 20,
      maxMicroEurPerMonth: 100_000_000,
      currency: "EUR",
      authEpoch: "1",
      oidcAudience: null,
    });
  });

  it.each(["HCLOUD_TOKEN", "INSTALLATION", "ADMIN_TOKEN"])("%s has none", (key) => {
    expect(refusalOf(() => read({ [key]: undefined })).key).toBe(key);
    expect(refusalOf(() => read({ [key]: "" })).key).toBe(key);
  });
});

describe("a good value", () => {
  it.each<[string, string, Partial<Config>]>([
    ["PROVIDER", "memory", { provider: "memory" }],
    ["HCLOUD_TOKEN", " pasted\n", { hcloudToken: "pasted" }],
    ["HCLOUD_ENDPOINT", "http://127.0.0.1:8788/v1", { hcloudEndpoint: "http://127.0.0.1:8788/v1" }],
    ["INSTALLATION", "0123456789abcdef", { installations: ["0123456789abcdef"] }],
    ["PREVIOUS_INSTALLATIONS", "one, two,,", { installations: ["installation-of-ours", "one", "two"] }],
    ["PREVIOUS_INSTALLATIONS", "installation-of-ours,one", { installations: ["installation-of-ours", "one"] }],
    ["MAX_AGE", "30d", { maxAgeMs: 30 * DAY }],
    ["MAX_AGE", "1h", { maxAgeMs: HOUR }],
    ["GRACE", "0s", { graceMs: 0 }],
    ["LAUNCH_DEADLINE", "1m", { launchDeadlineMs: MINUTE }],
    ["PLAN", "paid", { plan: "paid" }],
    ["KEEP_HISTORY", "1d", { keepHistoryMs: DAY }],
    ["KEEP_HISTORY", "3650d", { keepHistoryMs: 3650 * DAY }],
    ["ADMIN_TOKEN", `aZ0-._~+/${"x".repeat(30)}==`, { adminToken: `aZ0-._~+/${"x".repeat(30)}==` }],
    ["ADMIN_TOKEN", "x".repeat(32), { adminToken: "x".repeat(32) }],
    ["ADMIN_TOKEN", "x".repeat(512), { adminToken: "x".repeat(512) }],
    ["DEFAULT_TTL", "60s", { defaultTtlMs: MINUTE }],
    ["DEFAULT_TTL", "24h", { defaultTtlMs: DAY }],
    ["CREATES", "off", { creates: false }],
    ["MAX_MACHINES", "1", { maxMachines: 1 }],
    ["MAX_MACHINES", "99999", { maxMachines: 99_999 }],
    ["MAX_EUR_PER_MONTH", "0", { maxMicroEurPerMonth: 0 }],
    ["MAX_EUR_PER_MONTH", "99.5", { maxMicroEurPerMonth: 99_500_000 }],
    ["MAX_EUR_PER_MONTH", "999999.99", { maxMicroEurPerMonth: 999_999_990_000 }],
    ["MAX_EUR_PER_MONTH", "off", { maxMicroEurPerMonth: null }],
    ["CURRENCY", "USD", { currency: "USD" }],
    ["AUTH_EPOCH", "2", { authEpoch: "2" }],
    ["OIDC_AUDIENCE", "mayfly", { oidcAudience: "mayfly" }],
    ["OIDC_AUDIENCE", "https://a.example/b?c=~", { oidcAudience: "https://a.example/b?c=~" }],
    ["OIDC_AUDIENCE", "x".repeat(255), { oidcAudience: "x".repeat(255) }],
  ])("%s=%j", (key, value, expected) => {
    expect(read({ [key]: value })).toMatchObject(expected);
  });
});

describe("a bad value is refused by key, and never repeated", () => {
  const NO_DURATION = [CANARY, `1h${CANARY}`, `-1h ${CANARY}`, "  ", "1", "1.5h", "-1h", "NaN", 60, null];
  const cases: [string, unknown[]][] = [
    ["PROVIDER", [{ [CANARY]: 1 }, 7]],
    ["HCLOUD_TOKEN", ["  ", 7, { [CANARY]: 1 }, `${CANARY} ${CANARY}`, `${CANARY}\n${CANARY}`, `${CANARY}🦟`]],
    [
      "HCLOUD_ENDPOINT",
      [CANARY, `//${CANARY}`, `ftp://${CANARY}.example`, `javascript:${CANARY}`, `http://${CANARY}.example`, " ", 7],
    ],
    ["INSTALLATION", [`${CANARY} of ours, which is long`, `-${CANARY}-of-ours-too`, CANARY.repeat(11), 7]],
    ["PREVIOUS_INSTALLATIONS", [`-${CANARY}`, `fine,${CANARY} two`, CANARY.repeat(11), 7]],
    ["MAX_AGE", [...NO_DURATION, "0s", "59s", "31d"]],
    ["GRACE", [...NO_DURATION, "31d"]],
    ["LAUNCH_DEADLINE", [...NO_DURATION, "0s", "59s", "31d"]],
    ["PLAN", [CANARY, "Free", " ", 7]],
    ["KEEP_HISTORY", [...NO_DURATION, "0s", "23h", "3651d"]],
    [
      "ADMIN_TOKEN",
      ["  ", `${ADMIN} ${CANARY}`, `${ADMIN}${CANARY}ä`, `"${ADMIN}${CANARY}"`, CANARY, CANARY.repeat(100), 7],
    ],
    ["DEFAULT_TTL", [...NO_DURATION, "59s", "25h", "31d"]],
    ["CREATES", [CANARY, "ON", "true", " ", true]],
    ["MAX_EUR_PER_MONTH", [CANARY, "-1", "1000000", "1.001", "1e3", "1,5", "OFF", " ", 7, { [CANARY]: 1 }]],
    ["CURRENCY", [CANARY, "eur", "EURO", " ", 7, { [CANARY]: 1 }]],
    ["MAX_MACHINES", [CANARY, "0", "-1", "1.5", "100000", " ", 7, { [CANARY]: 1 }]],
    ["AUTH_EPOCH", [" ", "\t\n", 7, { [CANARY]: 1 }]],
    [
      "OIDC_AUDIENCE",
      [" ", 7, { [CANARY]: 1 }, CANARY.repeat(43), `${CANARY} ${CANARY}`, `${CANARY}ä`, `${CANARY}\n,`],
    ],
  ];

  it.each(cases.flatMap(([key, values]) => values.map((value): [string, unknown] => [key, value])))(
    "%s=%j",
    (key, value) => {
      const refusal = refusalOf(() => read({ [key]: value }));
      expect(refusal.key).toBe(key);
      expect(refusal.rule).not.toBe("");
      expect(refusal.message).toBe(`${key} ${refusal.rule}`);
      expect(JSON.stringify([refusal.message, refusal.stack, refusal.cause])).not.toContain(CANARY);
    },
  );

  it.each([undefined, null, 7, "text"])("an environment that is %j is refused too", (env) => {
    expect(refusalOf(() => readConfig(env)).key).toBe("the environment");
  });

  it("DEFAULT_TTL is also measured against the MAX_AGE that is set", () => {
    expect(refusalOf(() => read({ MAX_AGE: "30m", DEFAULT_TTL: "31m" })).key).toBe("DEFAULT_TTL");
    expect(read({ MAX_AGE: "30m" })).toMatchObject({ defaultTtlMs: 30 * MINUTE });
    expect(read({ MAX_AGE: "30m", DEFAULT_TTL: "30m" })).toMatchObject({ defaultTtlMs: 30 * MINUTE });
  });
});

describe("INSTALLATION", () => {
  const REAL = "https://api.hetzner.cloud/v1";
  const endpoint = (HCLOUD_ENDPOINT: string, INSTALLATION: string) => () => read({ HCLOUD_ENDPOINT, INSTALLATION });

  it("has at least 16 characters", () => {
    expect(endpoint(REAL, "x".repeat(16))().installations).toEqual(["x".repeat(16)]);
    expect(refusalOf(endpoint(REAL, "x".repeat(15))).key).toBe("INSTALLATION");
  });

  it.each(["http://127.0.0.1:8788/v1", "http://localhost:8788", "https://127.9.9.9/", "http://[::1]:8788/v1"])(
    "may be short where the endpoint is loopback: %s",
    (url) => {
      expect(endpoint(url, "local")().installations).toEqual(["local"]);
    },
  );

  it.each([
    "http://127.0.0.1.example.com/v1",
    "http://localhost.example.com/v1",
    "http://localhost@example.com/v1",
    "http://localhost:80@example.com/v1",
    "http://example.com/?http://127.0.0.1/",
    "http://128.0.0.1/v1",
  ])("may not where it only looks so: %s", (url) => {
    expect(refusalOf(endpoint(url, "local")).key).toBe("INSTALLATION");
  });
});

describe("all settings are read alike, as people paste them", () => {
  const GOOD: Record<string, string> = {
    PROVIDER: "memory",
    HCLOUD_TOKEN: "pasted",
    HCLOUD_ENDPOINT: "https://api.example/v1",
    INSTALLATION: "0123456789abcdef",
    PREVIOUS_INSTALLATIONS: "one,two",
    MAX_AGE: "2h",
    GRACE: "1m",
    LAUNCH_DEADLINE: "5m",
    PLAN: "paid",
    KEEP_HISTORY: "7d",
    ADMIN_TOKEN: "x".repeat(40),
    DEFAULT_TTL: "30m",
    CREATES: "off",
    MAX_MACHINES: "5",
    MAX_EUR_PER_MONTH: "20",
    CURRENCY: "USD",
    AUTH_EPOCH: "2",
    OIDC_AUDIENCE: "mayfly",
  };
  const SECRETS = new Set(["HCLOUD_TOKEN", "INSTALLATION", "ADMIN_TOKEN"]);
  const entries = Object.entries(GOOD);

  it("these are all of them", () => {
    expect(Object.keys(GOOD).toSorted()).toEqual(SETTINGS.toSorted());
  });

  it.each(entries)("%s=%j with white space around it is the same", (key, value) => {
    expect(read({ [key]: ` ${value}\r\n` })).toEqual(read({ [key]: value }));
    expect(read({ [key]: value })).not.toEqual(read());
  });

  it.each(entries.filter(([key]) => !SECRETS.has(key)))("%s that is empty counts as not set", (key) => {
    expect(read({ [key]: "" })).toEqual(read());
  });

  it.each(entries)("%s=%j in quotes is refused, by the rule that it breaks", (key, value) => {
    for (const quoted of [`"${value}"`, `'${value}'`, ` "${value}" `, `"${value}`]) {
      const refusal = refusalOf(() => read({ [key]: quoted }));
      expect([refusal.key, refusal.rule]).toEqual([key, "must be given without quotes around it"]);
    }
  });

  it.each(entries)("%s that is a number, as a file has it without quotes, is refused by that rule", (key) => {
    const refusal = refusalOf(() => read({ [key]: 20 }));
    expect([refusal.key, refusal.rule]).toEqual([key, "must be text: in wrangler.toml its value stands in quotes"]);
  });

  it.each(entries)("%s that is white space alone is refused: whoever set it meant something", (key) => {
    const refusal = refusalOf(() => read({ [key]: " \t" }));
    expect([refusal.key, refusal.rule]).toEqual([key, "must not be blank: give it a value, or leave it out"]);
  });
});

describe("a setting that a later version reads", () => {
  it.each("PUBLIC_URL SEAL_KEY SEAL_KEY_OLD METRICS_TOKEN HEARTBEAT_URL ENDPOINTS RUNNERS".split(" "))(
    "is refused by name, and not ignored: %s",
    (key) => {
      for (const value of ["1", " ", { [CANARY]: 1 }, 7]) {
        const refusal = refusalOf(() => read({ [key]: value }));
        expect(refusal.key).toBe(key);
        expect(refusal.rule).toContain("is not supported yet");
        expect(refusal.message).not.toContain(CANARY);
      }
      expect(read({ [key]: "" })).toEqual(read());
      expect(readSweepConfig({ ...NEEDED, [key]: "1" })).toMatchObject({ maxAgeMs: DAY });
    },
  );

  it("is none that nobody knows: a Worker may have bindings of its own", () => {
    expect(read({ DB: {}, CF_VERSION: "1" })).toEqual(read());
  });
});

describe("secrets that are none", () => {
  it.each([
    ["shorter than 32 characters", "ADMIN_TOKEN", "x".repeat(31)],
    ["the provider's token", "ADMIN_TOKEN", "t".repeat(64)],
    ["the word that every label tells", "ADMIN_TOKEN", "i".repeat(40)],
    ["the word that older labels tell", "ADMIN_TOKEN", "p".repeat(40)],
    ["the provider's token, which every label would tell", "INSTALLATION", "t".repeat(64)],
  ])("are refused, unless the endpoint is loopback: %s", (_what, key, value) => {
    const set = {
      ADMIN_TOKEN: "a".repeat(40),
      HCLOUD_TOKEN: "t".repeat(64),
      INSTALLATION: "i".repeat(40),
      PREVIOUS_INSTALLATIONS: "p".repeat(40),
    };
    // A label takes 63 characters at most.
    const shorter = key === "INSTALLATION" ? { HCLOUD_TOKEN: "t".repeat(63), [key]: value.slice(1) } : { [key]: value };
    expect(refusalOf(() => read({ ...set, ...shorter })).key).toBe(key);
    expect(() => read({ ...set, ...shorter, HCLOUD_ENDPOINT: LOCAL })).not.toThrow();
  });

  it("are refused where no header takes them, whatever the endpoint", () => {
    for (const HCLOUD_ENDPOINT of [LOCAL, undefined])
      expect(refusalOf(() => read({ ADMIN_TOKEN: "x".repeat(513), HCLOUD_ENDPOINT })).key).toBe("ADMIN_TOKEN");
  });
});

describe("HCLOUD_ENDPOINT", () => {
  it.each(["http://api.hetzner.cloud/v1", "HTTP://proxy.example", "http://127.0.0.1.example.com/v1"])(
    "never has the token go over the net in the clear, not for a sweep either: %s",
    (HCLOUD_ENDPOINT) => {
      expect(refusalOf(() => read({ HCLOUD_ENDPOINT })).key).toBe("HCLOUD_ENDPOINT");
      expect(refusalOf(() => readSweepConfig({ ...NEEDED, HCLOUD_ENDPOINT })).key).toBe("HCLOUD_ENDPOINT");
    },
  );

  it.each(["http://127.0.0.1:8788/v1", "http://localhost:8788", "HTTP://[::1]:1/v1"])(
    "may on this machine: %s",
    (url) => {
      expect(read({ HCLOUD_ENDPOINT: url }).hcloudEndpoint).toBe(url);
    },
  );
});

describe("what the sweep needs", () => {
  it.each([
    ["ADMIN_TOKEN", undefined],
    ["ADMIN_TOKEN", "not a bearer token"],
    ["DEFAULT_TTL", "soon"],
    ["DEFAULT_TTL", "30d"],
    ["CREATES", "perhaps"],
    ["AUTH_EPOCH", "  "],
    ["MAX_MACHINES", "many"],
    ["MAX_EUR_PER_MONTH", "much"],
    ["CURRENCY", "euro"],
    ["ADMIN_TOKEN", "short"],
    ["ADMIN_TOKEN", "installation-of-ours"],
  ])("is read although %s is %j", (key, value) => {
    const settings = { ...NEEDED, [key]: value };
    expect(refusalOf(() => readConfig(settings)).key).toBe(key);
    expect(readSweepConfig(settings)).toMatchObject({ installations: ["installation-of-ours"], maxAgeMs: DAY });
  });

  it.each(["soon", "1h", "'30d'", " ", 7])("forgets nothing where KEEP_HISTORY is %j, and goes on", (value) => {
    expect(readSweepConfig({ ...NEEDED, KEEP_HISTORY: value })).toMatchObject({ maxAgeMs: DAY, keepHistoryMs: null });
    expect(readSweepConfig(NEEDED)).toMatchObject({ keepHistoryMs: 30 * DAY });
  });

  it.each([
    ["HCLOUD_TOKEN", ""],
    ["INSTALLATION", "short"],
    ["MAX_AGE", "soon"],
    ["GRACE", "soon"],
    ["LAUNCH_DEADLINE", "soon"],
    ["PREVIOUS_INSTALLATIONS", "not a label"],
  ])("is not guessed where %s is %j", (key, value) => {
    expect(refusalOf(() => readSweepConfig({ ...NEEDED, [key]: value })).key).toBe(key);
  });
});

describe("PROVIDER", () => {
  const open = (PROVIDER: string) => () =>
    createProviders()(read({ PROVIDER }), {
      fetch: () => Promise.reject(new Error("nothing is asked")),
      now: () => 0,
      isSweep: false,
    });

  it.each(["hetzner", "memory"])("P12: %s is known", (provider) => {
    expect(open(provider)()).toHaveProperty("driver.priceEurPerHour");
  });

  it.each([CANARY, "Hetzner", "constructor", "__proto__"])("P12: %j is not, and the known ones are named", (text) => {
    const refusal = refusalOf(open(text));
    expect(refusal.key).toBe("PROVIDER");
    expect(refusal.rule).toBe("must be one of hetzner, memory");
  });
});
