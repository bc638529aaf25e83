import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { readLabels, readPriceRows, readServer } from "../../../src/driver/hetzner/server.ts";
import { serverJson } from "./bench.ts";

/** The same as a schema says it. */
const id = z.int().positive();
const text = z.string().catch("");
const amount = z.object({ gross: z.unknown().optional() });
const prices = z
  .array(
    z
      .object({ location: z.string(), price_hourly: amount, price_monthly: amount.nullable().optional().catch(null) })
      .transform((row) => ({
        location: row.location,
        hourly: row.price_hourly.gross,
        monthly: row.price_monthly?.gross,
      }))
      .nullable()
      .catch(null),
  )
  .catch([]);
const labels = z
  .record(z.string(), z.unknown())
  .transform((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value === "string")))
  .nullable()
  .catch(null);
const address = z.object({ ip: z.string() }).nullable().catch(null);
const firewalls = z
  .array(z.object({ id, status: text }).transform((one) => ({ id: one.id, isApplied: one.status === "applied" })))
  .nullable()
  .default(null)
  .catch(null);
const inNetwork = z
  .object({ ip: z.string(), network: id.nullable().catch(null) })
  .nullable()
  .catch(null);
const server = z
  .object({
    id,
    name: text,
    status: text,
    created: z.unknown().optional(),
    labels: labels.default(null),
    public_net: z
      .object({
        ipv4: address.optional(),
        ipv6: address.optional(),
        firewalls,
      })
      .nullable()
      .default(null)
      .catch(null),
    private_net: z.array(inNetwork).nullable().default(null).catch(null),
    server_type: z.object({ name: text, architecture: text, prices }).nullable().default(null).catch(null),
    location: z.object({ name: text }).nullable().default(null).catch(null),
    protection: z
      .object({ delete: z.boolean().catch(false) })
      .nullable()
      .default(null)
      .catch(null),
  })
  .transform((one) => ({
    id: one.id,
    name: one.name,
    status: one.status,
    created: one.created,
    labels: one.labels,
    ipv4: one.public_net?.ipv4?.ip ?? "",
    ipv6: one.public_net?.ipv6?.ip ?? "",
    firewalls: one.public_net?.firewalls ?? null,
    privateNet: one.private_net,
    serverType: one.server_type?.name ?? "",
    architecture: one.server_type?.architecture ?? "",
    prices: one.server_type?.prices ?? [],
    location: one.location?.name ?? "",
    deleteProtected: one.protection?.delete ?? false,
  }));

// The schema leaves such a key out; no label can be called that.
const odd = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));
/** A value as a rule, something else now and then, and sometimes nothing. */
const mostly = (value: fc.Arbitrary<unknown>) => fc.oneof({ arbitrary: value, weight: 8 }, odd, fc.constant(undefined));
const fields = (shape: Record<string, fc.Arbitrary<unknown>>) =>
  mostly(fc.record(Object.fromEntries(Object.entries(shape).map(([key, value]) => [key, mostly(value)]))));
const list = (item: fc.Arbitrary<unknown>) => fc.array(mostly(item), { maxLength: 3 });
const word = fc.string({ maxLength: 3 });
const number = fc.oneof(fc.integer({ min: 1 }), fc.constantFrom(0, -1, 0.5, 2 ** 53));
const price = fields({ net: word, gross: word });
const row = fields({ location: word, price_hourly: price, price_monthly: price });
const network = fields({ ip: word, network: number, mac_address: word });
const labelled = fc.dictionary(
  word.filter((key) => key !== "__proto__"),
  fc.oneof(word, odd),
);
const item = fields({
  id: number,
  name: word,
  status: word,
  created: word,
  labels: labelled,
  public_net: fields({
    ipv4: fields({ ip: word, blocked: fc.boolean() }),
    ipv6: fields({ ip: word }),
    firewalls: list(fields({ id: number, status: fc.constantFrom("applied", "pending") })),
  }),
  private_net: list(network),
  server_type: fields({ name: word, architecture: word, prices: list(row) }),
  location: fields({ name: word }),
  protection: fields({ delete: fc.boolean() }),
  root_password: word,
});

describe("a server that is read by hand", () => {
  it("is what its schema says, whatever the answer holds", () => {
    let read = 0;
    fc.assert(
      fc.property(fc.oneof({ arbitrary: item, weight: 9 }, odd), (shown) => {
        const parsed = server.safeParse(shown).data ?? null;
        if (parsed !== null) read += 1;
        expect(readServer(shown)).toEqual(parsed);
      }),
      { numRuns: 2000 },
    );
    expect(read).toBeGreaterThan(300);
  });

  it("has prices and labels that are what their schemas say", () => {
    fc.assert(
      fc.property(mostly(list(row)), mostly(labelled), (rows, all) => {
        expect(readPriceRows(rows)).toEqual(prices.parse(rows));
        expect(readLabels(all)).toEqual(labels.safeParse(all).data ?? null);
      }),
    );
  });

  it("keeps nothing else of the answer", () => {
    const shown = readServer(serverJson({ root_password: "canary-root-password", user_data: "canary-user-data" }));
    expect(JSON.stringify(shown)).not.toContain("canary");
  });
});
