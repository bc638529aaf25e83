import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";
import {
  ECDSA_FINGERPRINT,
  ECDSA_KEY,
  FINGERPRINT_A,
  FINGERPRINT_B,
  KEY_A,
  KEY_B,
  RSA_FINGERPRINT,
  RSA_KEY,
} from "./sample-keys.ts";

const FIRST_ID = 20_001;

function startWithKeys() {
  const started = startSimulator();
  const upload = (name: string, public_key: string, more: object = {}) =>
    started.send("POST", "/v1/ssh_keys", { name, public_key, ...more });
  return { ...started, upload };
}

describe("POST /ssh_keys", () => {
  it("answers the key with its id, its fingerprint and its labels", async () => {
    const { upload } = startWithKeys();
    expect(await upload("a", `${KEY_A} me@home`, { labels: { env: "ci" } })).toMatchObject({
      status: 201,
      body: {
        ssh_key: {
          id: FIRST_ID,
          name: "a",
          fingerprint: FINGERPRINT_A,
          public_key: `${KEY_A} me@home`,
          labels: { env: "ci" },
          created: "2026-11-15T12:00:00+00:00",
        },
      },
    });
  });

  it.each([
    [KEY_B, FINGERPRINT_B],
    [RSA_KEY, RSA_FINGERPRINT],
    [ECDSA_KEY, ECDSA_FINGERPRINT],
  ])("gives %s the fingerprint that OpenSSH gives it", async (key, fingerprint) => {
    const { upload } = startWithKeys();
    expect((await upload("a", key)).body).toMatchObject({ ssh_key: { fingerprint } });
  });

  it("takes a key with a comment of several words and a line's end", async () => {
    const { upload } = startWithKeys();
    expect((await upload("a", `${KEY_A} me at home\n`)).body).toMatchObject({
      ssh_key: { public_key: `${KEY_A} me at home`, fingerprint: FINGERPRINT_A },
    });
  });

  it("refuses a name that is taken", async () => {
    const { upload } = startWithKeys();
    await upload("a", KEY_A);
    expect(await upload("a", KEY_B)).toMatchObject({
      status: 409,
      body: { error: { code: "uniqueness_error", message: "SSH key name is already used" } },
    });
  });

  it("refuses a key that is there under another name, whatever its comment", async () => {
    const { upload } = startWithKeys();
    await upload("a", `${KEY_A} one`);
    expect(await upload("b", `${KEY_A} two`)).toMatchObject({
      status: 409,
      body: { error: { code: "uniqueness_error", message: "SSH key not unique" } },
    });
  });

  it.each([
    ["no key", "", "public_key"],
    ["words", "hello world", "public_key"],
    ["a key without its type", KEY_A.replace("ssh-ed25519 ", ""), "public_key"],
    ["a key under another type", KEY_A.replace("ssh-ed25519", "ssh-rsa"), "public_key"],
    ["a key of a type that is no longer taken", "ssh-dss AAAAB3NzaC1kc3MAAAAAAAAAAA==", "public_key"],
    ["half a key", KEY_A.slice(0, -20), "public_key"],
    ["a key that breaks off in a length", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAA=", "public_key"],
    ["base64 of an impossible length", `${KEY_A}A`, "public_key"],
    ["two lines", `${KEY_A}\n${KEY_B}`, "public_key"],
    ["a number", 5, "public_key"],
    ["a missing key", undefined, "public_key"],
  ])("refuses %s", async (_what, public_key, name) => {
    const { sim, send } = startWithKeys();
    expect(await send("POST", "/v1/ssh_keys", { name: "a", public_key })).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name }] } } },
    });
    expect(sim.state().ssh_keys).toEqual([]);
  });

  it("refuses an empty name", async () => {
    const { upload } = startWithKeys();
    expect(await upload("", KEY_A)).toMatchObject({ status: 422 });
  });
});

describe("GET /ssh_keys", () => {
  async function startWithTwo() {
    const started = startWithKeys();
    await started.upload("b", KEY_A, { labels: { env: "ci" } });
    await started.upload("a b", KEY_B);
    return started;
  }

  it.each([
    ["", ["b", "a b"]],
    ["?name=b", ["b"]],
    ["?name=a%20b", ["a b"]],
    ["?name=nobody", []],
    [`?fingerprint=${FINGERPRINT_B}`, ["a b"]],
    [`?fingerprint=${FINGERPRINT_B}&name=b`, []],
    ["?label_selector=env=ci", ["b"]],
    ["?sort=name", ["a b", "b"]],
    ["?sort=id:desc", ["a b", "b"]],
    ["?per_page=1&page=2", ["a b"]],
  ])("%s", async (query, expected) => {
    const { names } = await startWithTwo();
    expect(await names(`/v1/ssh_keys${query}`)).toEqual(expected);
  });

  it("does not sort by created", async () => {
    const { send } = startWithKeys();
    expect(await send("GET", "/v1/ssh_keys?sort=created")).toMatchObject({ status: 422 });
  });
});

describe("one SSH key", () => {
  it("is read, renamed and relabelled; its labels are replaced as a whole", async () => {
    const { send, upload } = startWithKeys();
    await upload("a", KEY_A, { labels: { env: "ci", run: "7" } });
    const path = `/v1/ssh_keys/${FIRST_ID}`;
    expect(await send("PUT", path, { name: "b", labels: { run: "8" } })).toMatchObject({ status: 200 });
    expect(await send("GET", path)).toMatchObject({ status: 200, body: { ssh_key: { name: "b", public_key: KEY_A } } });
    expect((await send("GET", path)).body).toHaveProperty("ssh_key.labels", { run: "8" });
  });

  it("keeps what an update does not name, and cannot take another one's name", async () => {
    const { send, upload } = startWithKeys();
    await upload("a", KEY_A, { labels: { env: "ci" } });
    await upload("b", KEY_B);
    const path = `/v1/ssh_keys/${FIRST_ID}`;
    expect(await send("PUT", path, {})).toMatchObject({ body: { ssh_key: { name: "a", labels: { env: "ci" } } } });
    expect(await send("PUT", path, { name: "b" })).toMatchObject({ status: 409 });
  });

  it("is deleted with 204, and then neither found nor in the way, while its id is not used again", async () => {
    const { sim, send, upload } = startWithKeys();
    await upload("a", KEY_A);
    const { status, body, headers } = await send("DELETE", `/v1/ssh_keys/${FIRST_ID}`);
    expect([status, body, headers.get("Content-Type")]).toEqual([204, "", null]);
    for (const method of ["GET", "PUT", "DELETE"])
      expect(await send(method, `/v1/ssh_keys/${FIRST_ID}`, method === "PUT" ? {} : undefined)).toMatchObject({
        status: 404,
        body: { error: { message: "SSH key not found" } },
      });
    sim.reset();
    expect((await upload("a", KEY_A)).body).toMatchObject({ ssh_key: { id: FIRST_ID + 1 } });
  });
});

describe("a server made with SSH keys", () => {
  it.each([[["a"]], [[FIRST_ID]], [[String(FIRST_ID), "b"]]])("names them by name or id: %j", async (ssh_keys) => {
    const { sim, create, upload } = startWithKeys();
    await upload("a", KEY_A);
    await upload("b", KEY_B);
    expect(await create({ ssh_keys })).toMatchObject({ status: 201, body: { root_password: null } });
    expect(sim.state().servers).toMatchObject([{ ssh_keys }]);
  });

  it("is refused when there is no such key", async () => {
    const { sim, create, upload } = startWithKeys();
    await upload("a", KEY_A);
    for (const key of ["b", 1, "A"])
      expect(await create({ ssh_keys: ["a", key] })).toMatchObject({
        status: 422,
        body: { error: { code: "invalid_input", details: { fields: [{ name: "ssh_keys" }] } } },
      });
    expect(sim.state().servers).toEqual([]);
  });

  it("stays when a key is deleted", async () => {
    const { sim, create, send, upload } = startWithKeys();
    await upload("a", KEY_A);
    await create({ ssh_keys: ["a"] });
    await send("DELETE", `/v1/ssh_keys/${FIRST_ID}`);
    expect(sim.state()).toMatchObject({ servers: [{ ssh_keys: ["a"] }], ssh_keys: [] });
  });
});
