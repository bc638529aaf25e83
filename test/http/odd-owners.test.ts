import { expect, it } from "vitest";
import { writeToken } from "../../src/auth/token-form.ts";
import { BODY, createMayfly, machineIn, servers } from "../mayfly.ts";

const CALLS = [
  ["GET", "/v1/machines", undefined],
  ["GET", "/v1/machines/box", undefined],
  ["PUT", "/v1/machines/box", BODY],
  ["POST", "/v1/machines", BODY],
  ["POST", "/v1/machines/box/renew", { ttl: "1h" }],
  ["DELETE", "/v1/machines/box", undefined],
] as const;
const ODD = ["%00", "", "a%00b", "x".repeat(10_000), "%F0%9F%98%80", "'", "TOK.ANN", "%ff", "tok.ann&owner=tok.bob"];

it("an admin that names an odd owner is refused that, whatever is read before it is looked at", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", BODY);
  for (const owner of ODD)
    for (const [method, path, body] of CALLS)
      expect([owner, method, path, (await mayfly.send(method, `${path}?owner=${owner}`, body)).status]).toEqual([
        owner,
        method,
        path,
        422,
      ]);
});

it("a caller that names another owner is told nothing of it, by name and by id", async () => {
  const mayfly = createMayfly();
  const [ann, bob] = [await mayfly.tokenOf("ann"), await mayfly.tokenOf("bob")];
  const { id } = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann));
  for (const owner of ["tok.ann", "admin", ...ODD])
    for (const [method, path, body] of CALLS)
      for (const target of [path, path.replace("box", id)]) {
        const { status, text } = await mayfly.send(method, `${target}?owner=${owner}`, body, bob);
        expect([403, 404, 422], `${method} ${target}?owner=${owner}`).toContain(status);
        expect(text).not.toContain(id);
      }
  expect(servers(mayfly)).toHaveLength(1);
});

const BODIES = [
  "[".repeat(16_000),
  "[".repeat(15_000) + "]".repeat(15_000),
  `{"profile":${"[".repeat(15_000)}${"]".repeat(15_000)}}`,
  '{"profile":"small","__proto__":{}}',
  '{"profile":"__proto__"}',
  '{"profile":"constructor"}',
  '{"profile":"small","ttl":"\u0000"}',
  '{"ssh_keys":[null]}',
  '{"firewalls":[{"rules":[{"direction":"in","protocol":"tcp","port":"9-1","source_ips":["::/0","x"]}]}]}',
  '{"networks":[{"ip_range":"10.0.0.0/99","region":"fsn1"}],"server_type":"cx23","region":"fsn1"}',
  '{"server_type":"cx23","region":"fsn1","ssh_keys":["ssh-ed25519 AAAA"]}',
  String.raw`{"firewalls":["\ud800"],"server_type":"cx23","region":"fsn1"}`,
  String.raw`{"firewalls":["a\u0000b"],"server_type":"cx23","region":"fsn1"}`,
  "null",
  "1",
  "\u0000",
  "\ufeff{}",
];

it("whoever is let in nowhere is told only that, however odd what it sends is; who is let in, what is wrong with it", async () => {
  const mayfly = createMayfly({}, { profiles: { small: BODY } });
  const token = await writeToken(new Uint8Array(32));
  for (const body of BODIES)
    for (const [method, path] of [
      ["PUT", "/v1/machines/box"],
      ["POST", "/v1/machines"],
    ] as const) {
      expect((await mayfly.send(method, path, body, token)).status).toBe(401);
      expect([400, 422], body.slice(0, 60)).toContain((await mayfly.send(method, path, body)).status);
    }
});
