/**
 * Refusals and answers that people have had from the real API between 2018 and 2026, as they reported them: their status, code and shape.
 * Messages are paraphrased, save for the few words that the driver goes by. Where a report had no status, the document's is taken.
 */
import { describe, expect, it } from "vitest";
import type { Capabilities } from "../../../src/driver/capabilities.ts";
import type { Driver, DriverErrorDetails } from "../../../src/driver/driver.ts";
import type { Account } from "../../../src/driver/hetzner/account.ts";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { createClient, type Call } from "../../../src/driver/hetzner/client.ts";
import { createHetznerDriver } from "../../../src/driver/hetzner/hetzner.ts";
import { failureOf, NOW, spec } from "../contract/cloud.ts";
import { TOKEN } from "./bench.ts";

interface Opened {
  readonly driver: Driver;
  readonly capabilities: Required<Capabilities>;
  /** For paths that mayfly itself does not call. */
  readonly call: (method: Call<unknown>["method"], path: string) => Promise<unknown>;
}
type Ask = (opened: Opened) => Promise<unknown>;

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMcOL20YlBkE4kAlePP9eFk/81YyJpa7cqTX2Q7Vs/b";
const create: Ask = ({ driver }) => driver.create(spec());
const get: Ask = ({ driver }) => driver.get("42");
const makeNetwork: Ask = ({ capabilities }) =>
  capabilities.networks.create({ name: "lab", ipRange: "10.0.0.0/16", region: "fsn1", labels: {} });
const makeKey: Ask = ({ capabilities }) => capabilities.sshKeys.ensure("laptop", KEY, {});
const deleteNetwork: Ask = ({ capabilities }) => capabilities.networks.delete("7");
const deleteFirewall: Ask = ({ capabilities }) => capabilities.firewalls.delete("7");
const apply: Ask = ({ capabilities }) => capabilities.firewalls.apply("7", ["42"]);
const attach: Ask = ({ capabilities }) => capabilities.networks.attach("7", "42");
const types: Ask = ({ capabilities }) => capabilities.serverTypes();
const raw =
  (method: Call<unknown>["method"], path: string): Ask =>
  ({ call }) =>
    call(method, path);

interface Seen {
  /** How many of the reports are this one. */
  readonly reports: number;
  readonly ask: Ask;
  readonly status: number;
  readonly code?: string;
  readonly message?: string | null;
  readonly details?: unknown;
  /** A body that is no envelope. */
  readonly text?: string;
  readonly is: Partial<DriverErrorDetails> & { readonly code: string };
  readonly field?: string;
}

const OPEN = { ambiguous: true };
const DEFINITE = { ambiguous: false };
const LATER = { retryable: true };
const NO_ROOM = { code: "capacity", ...DEFINITE, retryable: false, isForGood: false };
/** Nor later. */
const NOT_SOLD = { ...NO_ROOM, isForGood: true };
/** Servers and addresses: the next try soon, because what was just deleted may still count. */
const FULL = { code: "quota", ...DEFINITE, ...LATER, retryAfter: 10 };
const OF_SERVERS = { limit: { name: "server_limit", counts: "machines" } };
const OF_ADDRESSES = { limit: { name: "primary_ip_limit", counts: "primary IP addresses" } };
const OF_CORES = { limit: { name: "shared_core_limit", counts: "shared cores" } };

const REFUSALS: Readonly<Record<string, Seen>> = {
  "server limit, named": {
    reports: 3,
    ask: create,
    status: 403,
    code: "resource_limit_exceeded",
    message: "server limit exceeded",
    details: { limits: [{ name: "server_limit" }] },
    is: { ...FULL, ...OF_SERVERS },
  },
  "server limit, by its words": {
    reports: 2,
    ask: create,
    status: 403,
    code: "resource_limit_exceeded",
    message: "server limit exceeded",
    is: { ...FULL, ...OF_SERVERS },
  },
  "address limit, named": {
    reports: 1,
    ask: create,
    status: 403,
    code: "resource_limit_exceeded",
    message: "no more of them",
    details: { limits: [{ name: "primary_ip_limit" }] },
    is: { ...FULL, ...OF_ADDRESSES },
  },
  "address limit, by its words": {
    reports: 4,
    ask: create,
    status: 403,
    code: "resource_limit_exceeded",
    message: "Primary IP limit exceeded",
    is: { ...FULL, ...OF_ADDRESSES },
  },
  "core limit": {
    reports: 2,
    ask: create,
    status: 403,
    code: "resource_limit_exceeded",
    message: "shared core limit exceeded",
    is: { ...NO_ROOM, ...OF_CORES },
  },
  "no host, details null": {
    reports: 1,
    ask: create,
    status: 412,
    code: "resource_unavailable",
    message: "no placement",
    details: null,
    is: NO_ROOM,
  },
  "no host, details empty": {
    reports: 2,
    ask: create,
    status: 412,
    code: "resource_unavailable",
    message: "no placement",
    details: {},
    is: NO_ROOM,
  },
  "no host, without details": {
    reports: 9,
    ask: create,
    status: 412,
    code: "resource_unavailable",
    message: "no placement",
    is: NO_ROOM,
  },
  "location that is closed": {
    reports: 1,
    ask: create,
    status: 412,
    code: "resource_unavailable",
    message: "server location disabled",
    is: NO_ROOM,
  },
  "type that the location has not": {
    reports: 3,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "unsupported location for server type",
    is: NOT_SOLD,
    field: "region",
  },
  "type that is no longer sold, with its field": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "server type 'one' is deprecated",
    details: { fields: [{ name: "server_type", messages: ["it is an old one"] }] },
    is: NOT_SOLD,
    field: "server_type",
  },
  "type that is no longer sold, by its id": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "server type 1 is deprecated",
    is: NOT_SOLD,
    field: "server_type",
  },
  "image that is too big": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "image disk is bigger than server type disk",
    is: NOT_SOLD,
    field: "image",
  },
  "image that is not there, as bad input": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "no such image",
    details: {},
    is: { code: "invalid_input", ...DEFINITE },
    field: "image",
  },
  "image that is not there, without a code": {
    reports: 1,
    ask: create,
    status: 404,
    message: "no such image",
    is: { code: "unexpected", ...OPEN },
  },
  "name that is none, with its field": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "a field is wrong",
    details: { fields: [{ messages: ["no host name"], name: "name" }] },
    is: { code: "invalid_input", ...DEFINITE },
    field: "name",
  },
  "name that is none, by its words": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "the field 'name' is wrong",
    is: { code: "invalid_input", ...DEFINITE },
    field: "name",
  },
  "label that is none": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "the field 'labels' is wrong",
    is: { code: "invalid_input", ...DEFINITE },
    field: "labels",
  },
  "label key that is reserved": {
    reports: 1,
    ask: create,
    status: 422,
    code: "invalid_input",
    message: "a reserved prefix",
    is: { code: "invalid_input", ...DEFINITE },
    field: "body",
  },
  "server name that is taken": {
    reports: 1,
    ask: create,
    status: 409,
    code: "uniqueness_error",
    message: "taken",
    // Its name finds nothing yet.
    is: { code: "conflict", ...DEFINITE, ...LATER },
  },
  "network name that is taken": {
    reports: 1,
    ask: makeNetwork,
    status: 409,
    code: "uniqueness_error",
    message: "taken",
    is: { code: "name_taken", ...DEFINITE },
  },
  "key or its name that is taken": {
    reports: 4,
    ask: makeKey,
    status: 409,
    code: "uniqueness_error",
    message: "there already",
    is: { code: "name_taken", ...DEFINITE },
  },
  "protected network": {
    reports: 1,
    ask: deleteNetwork,
    status: 423,
    code: "protected",
    message: "protected",
    is: { code: "protected", ...DEFINITE },
  },
  "protected snapshot": {
    reports: 1,
    ask: raw("DELETE", "/images/7"),
    status: 423,
    code: "protected",
    message: "protected",
    is: { code: "protected", ...DEFINITE },
  },
  "firewall in use": {
    reports: 3,
    ask: deleteFirewall,
    status: 422,
    code: "resource_in_use",
    message: "in use",
    details: null,
    is: { code: "in_use", ...DEFINITE, ...LATER },
  },
  "firewall for a server that has no address yet": {
    reports: 1,
    ask: apply,
    status: 422,
    code: "private_net_only_server",
    message: "no public interface",
    is: { code: "conflict", ...DEFINITE, ...LATER },
  },
  "locked server": {
    reports: 2,
    ask: attach,
    status: 423,
    code: "locked",
    message: "locked",
    is: { code: "locked", ...DEFINITE, ...LATER },
  },
  "network without a free address, as a fault": {
    reports: 1,
    ask: attach,
    status: 422,
    code: "service_error",
    message: "nothing is free",
    is: { code: "unavailable", ...OPEN, ...LATER },
  },
  "address that is not free": {
    reports: 2,
    ask: attach,
    status: 422,
    code: "ip_not_available",
    message: "not free",
    is: { code: "quota", ...DEFINITE, ...LATER },
  },
  "subnet in use, as a fault": {
    reports: 4,
    ask: raw("POST", "/networks/7/actions/delete_subnet"),
    status: 422,
    code: "service_error",
    message: "in use",
    is: { code: "unavailable", ...OPEN, ...LATER },
  },
  "subnet of no vSwitch, as a fault": {
    reports: 1,
    ask: raw("POST", "/networks/7/actions/add_subnet"),
    status: 422,
    code: "service_error",
    message: "no such vSwitch",
    is: { code: "unavailable", ...OPEN, ...LATER },
  },
  "address in use, under another status than the document's": {
    reports: 1,
    ask: raw("DELETE", "/primary_ips/7"),
    status: 409,
    code: "must_be_unassigned",
    message: "in use",
    is: { code: "unexpected", ...OPEN },
  },
  "token that is none": {
    reports: 2,
    ask: types,
    status: 401,
    code: "unauthorized",
    message: "who are you",
    is: { code: "unauthorized", ...DEFINITE },
  },
  "rate limit": {
    reports: 1,
    ask: get,
    status: 429,
    code: "rate_limit_exceeded",
    message: `too many for ${TOKEN.slice(0, TOKEN.length - 5)}`,
    is: { code: "rate_limited", ...DEFINITE, ...LATER, retryAfter: 1 },
  },
  "fault without words": {
    reports: 2,
    ask: create,
    status: 500,
    code: "server_error",
    message: "",
    is: { code: "unavailable", ...OPEN, ...LATER },
  },
  "fault of an unknown code": {
    reports: 1,
    ask: create,
    status: 500,
    code: "unknown_error",
    message: "not created",
    is: { code: "unavailable", ...OPEN, ...LATER },
  },
  "503 that is no JSON": {
    reports: 1,
    ask: create,
    status: 503,
    text: "",
    is: { code: "unavailable", ...OPEN, ...LATER },
  },
  "504 that is text": {
    reports: 1,
    ask: create,
    status: 504,
    text: "timed out",
    is: { code: "timeout", ...OPEN, ...LATER },
  },
  "path that there is not": {
    reports: 1,
    ask: raw("GET", "/limits"),
    status: 404,
    text: "",
    is: { code: "unexpected" },
  },
};

/** Answers to whatever is asked on the way, and `answer` to the rest. */
function open(answer: () => Response, account: Account = { currency: "EUR" }) {
  const methods: string[] = [];
  const list = { meta: { pagination: { next_page: null } }, servers: [], ssh_keys: [], networks: [] };
  const options = {
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    account,
    fetch: async (input: string, { method }: RequestInit) => {
      methods.push(method ?? "");
      const { pathname } = new URL(input);
      if (method === "GET" && /\/(servers|ssh_keys|networks)$/.test(pathname)) return Response.json(list);
      if (!pathname.endsWith("/locations")) return answer();
      return Response.json({ ...list, locations: [{ name: "fsn1", network_zone: "eu-central" }] });
    },
  };
  const client = createClient(options, account);
  const opened: Opened = {
    driver: createHetznerDriver(options),
    capabilities: createHetznerCapabilities(options),
    call: (method, path) => client.order({ method, path }),
  };
  return { opened, methods };
}

const answerOf = ({ status, text, code, message, details }: Seen): Response =>
  text === undefined
    ? Response.json({ error: { code, message, details } }, { status })
    : new Response(text, { status });

describe("what people had from the real API", () => {
  it.each(Object.entries(REFUSALS))("%s", async (_, seen) => {
    const { opened } = open(() => answerOf(seen));
    const failure = await failureOf(seen.ask(opened));
    expect(failure).toMatchObject(seen.is);
    expect(failure.problem?.field).toBe(seen.field);
    expect(failure.message).not.toContain(TOKEN.slice(0, 12));
  });

  it("a full project says that what was just deleted may still count", async () => {
    const error = { code: "resource_limit_exceeded", message: "server limit exceeded" };
    const { opened } = open(() => Response.json({ error }, { status: 403 }));
    expect((await failureOf(create(opened))).message).toContain("just deleted may still count");
  });

  it("a firewall's removal from a server that is gone, where the 404 has no words, is success", async () => {
    const { opened } = open(() => Response.json({ error: { code: "not_found", message: null } }, { status: 404 }));
    expect(await opened.capabilities.firewalls.remove("7", ["42"])).toEqual([]);
  });

  it("a 201 that shows actions alone, and no server, is looked into by name", async () => {
    const next_actions = [{ id: 1, command: "start_server", status: "running", error: null }];
    const { opened, methods } = open(() => Response.json({ next_actions }, { status: 201 }));
    expect(await failureOf(create(opened))).toMatchObject({ code: "unexpected", ...OPEN });
    expect(methods).toEqual(["POST", "GET"]);
  });

  it("an action that ended in an error says why", async () => {
    const error = { code: "unknown_error", message: "it is locked" };
    const { opened } = open(() => Response.json({ action: { id: 9, status: "error", error } }));
    expect(await opened.capabilities.action("9")).toEqual({
      id: "9",
      state: "failed",
      error: "unknown_error: it is locked",
    });
  });

  it("a list of actions tells a limit of 7200, in headers of any case", async () => {
    const account: Account = {};
    const headers = { "Ratelimit-Limit": "7200", "Ratelimit-Remaining": "7198", "Ratelimit-Reset": "1719822580" };
    const { opened } = open(() => Response.json({ actions: [] }, { headers }), account);
    expect(await opened.capabilities.deletionError("42")).toBeNull();
    expect(account.rate).toEqual({ limit: 7200, remaining: 7198, at: NOW });
  });

  it("are seventy-three reports, with the four above that are no refusals", () => {
    expect(Object.values(REFUSALS).reduce((sum, { reports }) => sum + reports, 0) + 4).toBe(73);
  });
});
