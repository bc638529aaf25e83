import { failureOf, isRunning, renderAction, startAction, type ActionRecord } from "./action-record.ts";
import { created, noContent, ok, type Call, type Reply } from "./call.ts";
import { ApiError, isChanging } from "./errors.ts";
import { Fields } from "./fields.ts";
import { startApplying } from "./firewall-actions.ts";
import { current, renderFirewall, type FirewallRecord } from "./firewall-record.ts";
import { readRules } from "./firewall-rules.ts";
import { applicableServers, readTargets, REFUSALS_OF_CREATE } from "./firewall-targets.ts";
import { page, sorted } from "./lists.ts";
import { filterNamed, refuseTaken, withRecord } from "./lookup.ts";
import { toTimestamp } from "./resources.ts";

const NAME_MAX_CHARACTERS = 128;

/** Wraps a handler of one firewall. */
export const withFirewall = withRecord("firewall", (world) => world.firewalls);

/** `GET /firewalls`. Source: Hetzner API, Firewalls. */
export function listFirewalls(call: Call): Reply {
  const { world, now_ms } = call;
  const firewalls = sorted(call, filterNamed(call, world.firewalls.values()), {
    id: ({ view }) => view.id,
    name: ({ view }) => view.name,
    created: ({ view }) => view.created,
  });
  return page(call, "firewalls", firewalls, (record) => renderFirewall(world, record, now_ms));
}

/** `GET /firewalls/{id}`. Source: Hetzner API, Firewalls. */
export function getFirewall({ world, now_ms }: Call, record: FirewallRecord): Reply {
  return ok({ firewall: renderFirewall(world, record, now_ms) });
}

/** `POST /firewalls`. Source: Hetzner API, Firewalls. */
export function createFirewall(call: Call): Reply {
  const { world, now_ms, effects } = call;
  const fields = new Fields(call.body);
  fields.require("name");
  const name = fields.text("name", NAME_MAX_CHARACTERS);
  const labels = fields.labels("labels");
  const rules = readRules(fields);
  const targets = readTargets(fields, "apply_to");
  fields.check();
  refuseTaken("firewall ", world.firewalls.values(), name);
  const servers = applicableServers(world, null, targets.servers, now_ms, REFUSALS_OF_CREATE);
  const record: FirewallRecord = {
    type: "firewall",
    view: { id: world.next_id.firewall++, name, labels, created: toTimestamp(now_ms) },
    rules,
    servers: [],
    selectors: [],
    actions: [],
  };
  world.firewalls.set(record.view.id, record);
  const actions: ActionRecord[] = [];
  if (rules.length > 0) {
    // Nothing has to be told about them yet, so that this has ended when it is answered.
    const failure = failureOf(effects.failure, "set_firewall_rules");
    const plan = {
      command: "set_firewall_rules",
      started_ms: now_ms,
      ends_ms: now_ms,
      failure,
      hold: "nothing",
    } as const;
    actions.push(startAction(world, [record], plan));
    if (failure !== null) record.rules = [];
  }
  actions.push(...startApplying(call, record, servers, targets.selectors));
  return created({
    firewall: renderFirewall(world, record, now_ms),
    actions: actions.map((action) => renderAction(action, now_ms)),
  });
}

/** `PUT /firewalls/{id}`: a name and the whole map of labels. Source: Hetzner API, Firewalls. */
export function updateFirewall(call: Call, record: FirewallRecord): Reply {
  const fields = new Fields(call.body);
  const name = fields.has("name") ? fields.text("name", NAME_MAX_CHARACTERS) : record.view.name;
  const labels = fields.has("labels") ? fields.labels("labels") : record.view.labels;
  fields.check();
  refuseTaken("firewall ", call.world.firewalls.values(), name, record.view.id);
  refuseWhileChanging(call, record);
  record.view = { ...record.view, name, labels };
  return getFirewall(call, record);
}

/** `DELETE /firewalls/{id}`: not while it is on anything. Source: Hetzner API, Firewalls. */
export function deleteFirewall(call: Call, record: FirewallRecord): Reply {
  const uses = [...current(record.servers, call.now_ms), ...current(record.selectors, call.now_ms)];
  if (uses.length > 0) throw new ApiError(422, "resource_in_use", "firewall is still applied to a resource");
  refuseWhileChanging(call, record);
  call.world.firewalls.delete(record.view.id);
  return noContent();
}

function refuseWhileChanging({ now_ms }: Call, record: FirewallRecord): void {
  if (record.actions.some((action) => isRunning(action, now_ms))) throw isChanging("firewall");
}
