/** What an event asks for: by the rules of its hook, or where that has none by what the event itself says. */
import * as z from "zod";
import { fitsOne } from "../auth/pattern.ts";
import { leaseText } from "../auth/policy.ts";
import type { NewDelivery } from "../machine/delivery.ts";
import { derivedName } from "../machine/derived-name.ts";
import { checkCallerLabels } from "../machine/labels.ts";
import { checkName } from "../machine/name.ts";
import { invalid, valid, type Checked } from "../machine/validation.ts";
import { labelsOf, type HookEvent } from "./event.ts";
import type { Hook, Rule } from "./hook.ts";
import { fillIn, textsAt, timeOf, valueAt } from "./path.ts";

export type Intent = Pick<NewDelivery, "rule" | "name" | "act" | "rank" | "ttl" | "labels">;

/** All that an event asks for, in the order of the rules; empty where nothing fits. */
export async function intentsOf({ rules }: Hook, event: HookEvent): Promise<Checked<readonly Intent[]>> {
  if (rules === null) return said(event);
  const intents: Intent[] = [];
  for (const [index, rule] of rules.entries()) {
    const intent = await intentOf(rule, index, event);
    if (intent !== null) intents.push(intent);
  }
  return valid(intents);
}

async function intentOf(rule: Rule, index: number, event: HookEvent): Promise<Intent | null> {
  const { payload } = event;
  if (rule.on !== event.kind) return null;
  const fits = rule.when.every(({ path, patterns }) =>
    textsAt(payload, path).some((value) => fitsOne(patterns, value)),
  );
  if (!fits) return null;
  const name = fillIn(rule.name, payload);
  const rank = rule.rank === null ? event.rank : timeOf(valueAt(payload, rule.rank));
  if (name === null || name === "" || rank === null) return null;
  const labels = rule.act === "create" ? labelsOf(event) : {};
  return { rule: index, name: await derivedName(name), act: rule.act, rank, ttl: rule.ttl, labels };
}

const nameField = z.string("must be text").refine((name) => checkName(name).ok, ruleOfName());
const labelsField = z.record(z.string(), z.string("must be text"), "must be an object of texts");

const DATA = {
  "machine.create": z.strictObject({ name: nameField, ttl: leaseText.optional(), labels: labelsField.optional() }),
  "machine.renew": z.strictObject({ name: nameField, ttl: leaseText.optional() }),
  "machine.destroy": z.strictObject({ name: nameField }),
} as const;
const ACTS = { "machine.create": "create", "machine.renew": "renew", "machine.destroy": "destroy" } as const;

const isOurs = (kind: string): kind is keyof typeof DATA => Object.hasOwn(DATA, kind);

/** What an event says by itself: `{"type": "machine.create", "data": {"name": "box", "ttl": "1h", "labels": {}}}`. */
function said({ kind, payload, rank }: HookEvent): Checked<readonly Intent[]> {
  if (!isOurs(kind)) return valid([]);
  const read = DATA[kind].safeParse(valueAt(payload, ["data"]));
  if (!read.success) {
    const [issue] = read.error.issues;
    const keys = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
    const field = ["data", ...(issue?.path ?? []), ...keys].join(".");
    const rule = keys.length > 0 ? "is nothing that this event takes" : (issue?.message ?? "is not valid");
    return invalid(field, rule.startsWith("Invalid input") ? "is required, as an object" : rule);
  }
  const { name, ...more }: { name: string; ttl?: string | undefined; labels?: Record<string, string> | undefined } =
    read.data;
  const labels = checkCallerLabels(more.labels ?? {});
  if (!labels.ok) return invalid(`data.${labels.problem.field}`, labels.problem.rule);
  return valid([{ rule: null, name, act: ACTS[kind], rank, ttl: more.ttl ?? null, labels: labels.value }]);
}

function ruleOfName(): string {
  const checked = checkName("");
  return checked.ok ? "" : checked.problem.rule;
}
