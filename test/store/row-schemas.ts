/** Rows as schemas know them, which the readers of `src/store/` are held against; and values that columns may hold. */
import fc from "fast-check";
import * as z from "zod";
import { DELIVERY_ACTS, DELIVERY_STATES } from "../../src/machine/delivery.ts";
import { PROTOCOLS } from "../../src/machine/firewall.ts";
import { canonicalRange } from "../../src/machine/ip-range.ts";
import { PHASES, STATUSES } from "../../src/machine/machine.ts";
import { ROW_REASONS } from "../../src/machine/reason.ts";
import { RESOURCE_KINDS, RESOURCE_PHASES } from "../../src/machine/resource.ts";

/** What a column holds: a schema of it, and values that mostly fit. */
interface Kind {
  readonly schema: z.ZodType;
  readonly fitting: fc.Arbitrary<unknown>;
}

const jsonText = <T>(schema: z.ZodType<T>) =>
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue("is no JSON");
        return z.NEVER;
      }
    })
    .pipe(schema);
const written = (value: fc.Arbitrary<unknown>) => value.map((one) => JSON.stringify(one));
/** What stands in no column of this kind, as a rule. */
export const oddValue = fc.oneof(
  fc.constantFrom(null, undefined, true, Number.NaN, Infinity, 2 ** 53, -0, 0.5, "", "{", "[]", "null", "1"),
  fc.string(),
  fc.double(),
  fc.jsonValue(),
  written(fc.jsonValue()),
);

const word = (words: readonly string[]): Kind => ({ schema: z.enum(words), fitting: fc.constantFrom(...words) });

// The schema leaves such a key out; no label can be called that.
const key = fc.string().filter((one) => one !== "__proto__");
const map = written(fc.oneof(fc.dictionary(key, fc.string()), fc.dictionary(key, fc.jsonValue())));
const ids = fc.array(fc.string(), { maxLength: 3 });

export const text: Kind = { schema: z.string(), fitting: fc.string() };
export const textOrNull: Kind = { schema: z.string().nullable(), fitting: fc.option(fc.string()) };
export const int: Kind = { schema: z.int(), fitting: fc.maxSafeInteger() };
export const intOrNull: Kind = { schema: z.int().nullable(), fitting: fc.option(fc.maxSafeInteger()) };
export const reason: Kind = {
  schema: z.enum(ROW_REASONS).nullable().catch("unknown"),
  fitting: fc.option(fc.constantFrom(...ROW_REASONS)),
};
export const phase = word(PHASES);
const flag: Kind = { schema: z.int().transform((value) => value === 1), fitting: fc.constantFrom(0, 1) };
const labels = jsonText(z.record(z.string(), z.string()));
const attachments = z.object({ firewallIds: z.array(z.string()), networkIds: z.array(z.string()) });
const rule = z.object({
  direction: z.enum(["in", "out"]),
  protocol: z.enum(PROTOCOLS),
  port: z.string().nullable(),
  ranges: z.array(z.string().transform(canonicalRange)),
  description: z.string().optional(),
});
const spec = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("firewall"), rules: z.array(rule), denyAll: z.boolean() }),
  z.object({ kind: z.literal("network"), ipRange: z.string(), region: z.string() }),
  z.object({ kind: z.literal("ssh_key"), publicKey: z.string() }),
]);

type Columns = Readonly<Record<string, Kind>>;

export const MACHINE: Columns = {
  uid: text,
  label_uid: textOrNull,
  owner: text,
  account: text,
  name: text,
  provider: text,
  provider_name: text,
  provider_id: textOrNull,
  installation: text,
  credential: text,
  phase,
  status: word(STATUSES),
  reason,
  spec_sha256: text,
  spec_fields: { schema: labels.nullable().catch(null), fitting: fc.option(map) },
  server_type: text,
  region: text,
  image: text,
  arch: text,
  labels: { schema: labels.catch({}), fitting: map },
  public_ipv4: text,
  public_ipv6: text,
  private_ipv4: text,
  price_micro_eur: intOrNull,
  price_month_micro_eur: intOrNull,
  ipv4_micro_eur: intOrNull,
  ipv4_month_micro_eur: intOrNull,
  has_ipv4: flag,
  requested_at: int,
  tried_at: intOrNull,
  created_at: intOrNull,
  expires_at: int,
  max_until: int,
  keep_on_failure_ms: intOrNull,
  label_expires_at: intOrNull,
  observed_at: intOrNull,
  attachments: {
    schema: jsonText(attachments).nullable().catch(null),
    fitting: written(fc.record({ firewallIds: ids, networkIds: fc.oneof(ids, fc.jsonValue()), more: fc.jsonValue() })),
  },
  missing_since: intOrNull,
  mismatched_since: intOrNull,
  destroy_requested_at: intOrNull,
  delete_accepted_at: intOrNull,
  destroyed_at: intOrNull,
  attempts: int,
  next_try_at: intOrNull,
  last_error: textOrNull,
};

export const RESOURCE: Columns = {
  uid: text,
  label_uid: textOrNull,
  owner: text,
  name: text,
  provider: text,
  provider_name: text,
  provider_id: textOrNull,
  installation: text,
  phase: word(RESOURCE_PHASES),
  reason,
  spec: {
    schema: jsonText(spec),
    fitting: written(fc.record({ kind: fc.constant("network"), ipRange: fc.string(), region: fc.string() })),
  },
  labels: { schema: labels.catch({}), fitting: map },
  requested_at: int,
  created_at: intOrNull,
  expires_at: int,
  delete_requested_at: intOrNull,
  idle_since: intOrNull,
  missing_since: intOrNull,
  deleted_at: intOrNull,
  attempts: int,
  next_try_at: intOrNull,
  last_error: textOrNull,
};

export const DUE_RESOURCE: Columns = {
  uid: text,
  kind: word(RESOURCE_KINDS),
  owner: text,
  name: text,
  provider_id: textOrNull,
  delete_requested_at: intOrNull,
  idle_since: intOrNull,
};

export const TOKEN: Columns = {
  id: text,
  owner: text,
  policy: text,
  note: text,
  created_at: int,
  expires_at: int,
  last_used_at: intOrNull,
  revoked_at: intOrNull,
};

export const UNBOOKED: Columns = {
  uid: text,
  account: text,
  owner: text,
  server_type: text,
  provider_id: textOrNull,
  requested_at: int,
  created_at: intOrNull,
  expires_at: int,
  destroyed_at: intOrNull,
  booked_hours: int,
  has_ipv4: flag,
  price_micro_eur: intOrNull,
  price_month_micro_eur: intOrNull,
  ipv4_micro_eur: intOrNull,
  ipv4_month_micro_eur: intOrNull,
  dearest_micro_eur: intOrNull,
  dearest_ipv4_micro_eur: intOrNull,
};

export const DELIVERY: Columns = {
  uid: text,
  hook: text,
  delivery: text,
  rule: intOrNull,
  source: textOrNull,
  owner: text,
  name: text,
  act: word(DELIVERY_ACTS),
  rank: int,
  ttl: textOrNull,
  labels: { schema: labels, fitting: written(fc.dictionary(key, fc.string())) },
  state: word(DELIVERY_STATES),
  attempts: int,
  next_try_at: intOrNull,
  received_at: int,
  finished_at: intOrNull,
  machine_uid: textOrNull,
  reason: textOrNull,
  detail: textOrNull,
};

const price = z.number().nullable().default(null);
const offer = z.object({
  region: z.string(),
  available: z.boolean(),
  unavailableAfter: z.int().nullable(),
  deprecated: z.boolean(),
  priceEurPerHour: price,
  priceEurPerMonth: price,
  ipv4EurPerHour: price,
  ipv4EurPerMonth: price,
});
const serverType = z.object({
  name: z.string(),
  arch: z.string(),
  cores: z.number(),
  memoryGb: z.number(),
  regions: z.array(offer),
});
const euros = fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }));
const offers = fc.record(
  {
    region: fc.string(),
    available: fc.boolean(),
    unavailableAfter: fc.option(fc.maxSafeInteger()),
    deprecated: fc.boolean(),
    priceEurPerHour: euros,
    priceEurPerMonth: euros,
    ipv4EurPerHour: euros,
    ipv4EurPerMonth: euros,
  },
  { requiredKeys: ["region", "available", "unavailableAfter", "deprecated"] },
);
const oddOffer = fc.dictionary(
  fc.constantFrom("region", "available", "unavailableAfter", "priceEurPerHour"),
  oddValue,
  {
    maxKeys: 1,
  },
);
const serverTypes = fc.record({
  name: fc.string(),
  arch: fc.string(),
  cores: fc.integer(),
  memoryGb: fc.integer(),
  regions: fc.array(offers, { maxLength: 3 }),
});
/** One of a catalogue's fields somewhere is another value. */
const brokenTypes = fc
  .tuple(
    serverTypes,
    offers,
    fc.dictionary(fc.constantFrom("name", "cores", "regions"), oddValue, { maxKeys: 1 }),
    oddOffer,
  )
  .map(([type, one, odd, oddOne]) => [{ ...type, regions: [{ ...one, ...oddOne }], ...odd }]);

export const CATALOGUE: Columns = {
  server_types: {
    schema: jsonText(z.array(serverType)),
    fitting: written(fc.oneof({ arbitrary: fc.array(serverTypes, { maxLength: 3 }), weight: 3 }, brokenTypes)),
  },
  fetched_at: int,
  currency: textOrNull,
  credential: textOrNull,
};

const camelCase = (column: string): string =>
  column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A schema of rows with these columns, which answers them in the domain's words. */
export const schemaOf = (columns: Columns) =>
  z
    .object(Object.fromEntries(Object.entries(columns).map(([column, { schema }]) => [column, schema])))
    .transform((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [camelCase(column), value])));

/** Rows that fit, but for a few columns that are odd or missing, and some that nobody knows. */
export const rowsLike = (columns: Columns): fc.Arbitrary<Record<string, unknown>> =>
  fc
    .tuple(
      fc.record(Object.fromEntries(Object.entries(columns).map(([column, { fitting }]) => [column, fitting]))),
      fc.dictionary(fc.constantFrom(...Object.keys(columns), "another"), oddValue, { maxKeys: 2 }),
      fc.subarray(Object.keys(columns), { maxLength: 1 }),
    )
    .map(([fitting, odd, missing]) => {
      const row = { ...fitting, ...odd };
      return Object.fromEntries(Object.entries(row).filter(([column]) => !missing.includes(column)));
    });
