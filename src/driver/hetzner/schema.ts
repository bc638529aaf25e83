import * as z from "zod";
import { meta } from "./paging.ts";
import { readLabels, readPriceRows, readServer, type Server } from "./server.ts";

/**
 * What we read of the Hetzner API (its document of November 2026). Unknown fields pass; a field that is missing or odd
 * costs only itself, because a list that failed over one of them would blind the reaper. Only an id is indispensable.
 */
const id = z.int().positive();
const text = z.string().catch("");

const prices = z.transform(readPriceRows);

const labels = z.transform(readLabels);

const server = z.transform((item, context): Server => {
  const read = readServer(item);
  if (read !== null) return read;
  context.addIssue("has no id");
  return z.NEVER;
});

/** `GET /servers/{id}` and `POST /servers`; everything else in them, `root_password` first, is dropped here (S33). */
export const serverAnswer = z.object({ server });

/** One page of `GET /servers`. Items are read one by one, so that one of them cannot hide the others. */
export const serverPage = z.object({ servers: z.custom<readonly unknown[]>((list) => Array.isArray(list)), meta });

/** `GET /pricing`: the currency is the project owner's and need not be EUR (S68). */
export const pricingAnswer = z.object({
  pricing: z.object({
    currency: z.string(),
    server_types: z.array(z.object({ name: z.string(), prices }).nullable().catch(null)),
    primary_ips: z.array(z.object({ type: z.string(), prices }).nullable().catch(null)).catch([]),
  }),
});

const action = z.object({
  id,
  command: text,
  status: text,
  error: z.object({ code: text, message: text }).nullable().catch(null),
});
export type Action = z.infer<typeof action>;

/** `GET /actions/{id}`, and what most orders answer. */
export const actionAnswer = z.object({ action });

/** What a firewall's actions answer, and the list of a server's. */
export const actionsAnswer = z.object({ actions: z.array(action) });

/** A server type. `locations[]` says what is offered where; a price entry alone says nothing (S87, S90). */
export const serverType = z.object({
  id: id.optional().catch(undefined),
  name: z.string(),
  architecture: text,
  cores: z.number().catch(0),
  memory: z.number().catch(0),
  prices,
  locations: z
    .array(
      z
        .object({
          name: z.string(),
          available: z.boolean().catch(false),
          deprecation: z.object({ unavailable_after: z.unknown().optional() }).nullable().optional().catch(null),
        })
        .nullable()
        .catch(null),
    )
    .catch([]),
});

/** What firewalls, networks and keys have in common. */
const resource = z.object({ id, labels, created: z.unknown().optional() });

/** An SSH key, as far as it matters. */
export const sshKey = resource.extend({ name: z.string(), public_key: z.string() });

/** A firewall, as far as it matters. It is applied to servers, and to whatever a label selector selects. */
export const firewall = resource.extend({
  applied_to: z
    .array(
      z
        .object({
          server: z.object({ id }).optional(),
          label_selector: z.object({ selector: z.string() }).optional(),
        })
        // What is neither is not nothing.
        .refine(({ server: one, label_selector }) => one !== undefined || label_selector !== undefined),
    )
    .nullable()
    .catch(null),
});

/** A network, as far as it matters. */
export const network = resource.extend({
  ip_range: z.string(),
  routes: z.array(z.object({ destination: z.string(), gateway: z.string() })).catch([]),
  // What cannot be read is not nobody: a network can be deleted under whoever is in it.
  servers: z.array(id).nullable().catch(null),
  load_balancers: z.array(id).nullable().optional().catch(null),
});

const image = z.object({ id, type: text, labels });
export type Image = z.infer<typeof image>;

/** `GET /images/{id}`. */
export const imageAnswer = z.object({ image });

/** `GET /images`. */
export const imagesAnswer = z.object({ images: z.array(image) });

/** A location, as far as it matters. */
export const location = z.object({ id: id.optional().catch(undefined), name: z.string(), network_zone: z.string() });

const errorBody = z.object({
  error: z.object({
    code: text,
    message: text,
    details: z
      .object({
        fields: z.array(z.object({ name: z.string(), messages: z.array(z.string()).catch([]) })).catch([]),
        limits: z.array(z.object({ name: text })).catch([]),
      })
      .nullable()
      .catch(null),
  }),
});

/** Reads an error envelope; empty strings where the body is not one (S149). */
export function parseErrorBody(body: string) {
  const parsed = errorBody.safeParse(parseJson(body)).data?.error;
  return {
    code: parsed?.code ?? "",
    message: parsed?.message ?? "",
    fields: parsed?.details?.fields ?? [],
    limits: (parsed?.details?.limits ?? []).map(({ name }) => name),
  };
}

/** JSON, or undefined: which no schema here accepts. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
