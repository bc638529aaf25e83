import { actionPlan, isRunning, renderAction, startAction, type ActionRecord } from "./action-record.ts";
import { created, type Call, type Reply } from "./call.ts";
import { ApiError, isChanging } from "./errors.ts";
import { Fields } from "./fields.ts";
import {
  applicationOn,
  current,
  selectedBy,
  type FirewallRecord,
  type SelectorApplication,
} from "./firewall-record.ts";
import { readRules } from "./firewall-rules.ts";
import { applicableServers, readTargets, REFUSALS_OF_ACTION, type Targets } from "./firewall-targets.ts";
import type { ServerRecord } from "./server-record.ts";

/** `POST /firewalls/{id}/actions/set_rules`: replaces all. Source: Hetzner API, Firewall Actions. */
export function setRules(call: Call, record: FirewallRecord): Reply {
  const fields = new Fields(call.body);
  fields.require("rules");
  const rules = readRules(fields);
  fields.check();
  if (record.actions.some((action) => isRunning(action, call.now_ms))) throw isChanging("firewall");
  const setting = start(call, record, [], "set_firewall_rules");
  if (setting.failure !== null) return answer(call, [setting]);
  record.rules = rules;
  const told = [...call.world.servers.values()].filter(
    (server) => applicationOn(record, server, call.now_ms) !== undefined,
  );
  const applying = told.map((server) => start(call, record, [server], "apply_firewall"));
  for (const application of [...current(record.servers, call.now_ms), ...current(record.selectors, call.now_ms)])
    application.pending_until_ms = setting.ends_ms;
  return answer(call, [setting, ...applying]);
}

/** `POST /firewalls/{id}/actions/apply_to_resources`. Source: Hetzner API, Firewall Actions. */
export function applyToResources(call: Call, record: FirewallRecord): Reply {
  const targets = targetsOf(call, "apply_to");
  const servers = applicableServers(call.world, record, targets.servers, call.now_ms, REFUSALS_OF_ACTION);
  const before = current(record.selectors, call.now_ms);
  for (const [index, { selector }] of targets.selectors.entries()) {
    const applied = before.find((application) => application.selector === selector);
    if (applied !== undefined && applied.until_ms !== Infinity) throw isChanging("firewall");
    if (applied !== undefined || targets.selectors.findIndex((other) => other.selector === selector) !== index)
      throw REFUSALS_OF_ACTION.twice();
  }
  return answer(call, startApplying(call, record, servers, targets.selectors));
}

/** `POST /firewalls/{id}/actions/remove_from_resources`. Source: Hetzner API, Firewall Actions. */
export function removeFromResources(call: Call, record: FirewallRecord): Reply {
  const targets = targetsOf(call, "remove_from");
  const servers = targets.servers.map((id) => {
    const server = call.world.servers.get(id);
    if (server === undefined) throw REFUSALS_OF_ACTION.missing();
    return { server, application: applicationOn(record, server, call.now_ms) };
  });
  const selectors = targets.selectors.map(({ selector }) =>
    current(record.selectors, call.now_ms).find((application) => application.selector === selector),
  );
  for (const { application } of servers)
    if (application !== undefined && "selector" in application)
      throw new ApiError(422, "firewall_managed_by_label_selector", "firewall is applied via a label selector");
  for (const application of [...servers.map((found) => found.application), ...selectors])
    if (application !== undefined && isInMotion(application, call.now_ms)) throw isChanging("firewall");

  const actions: ActionRecord[] = [];
  // What has gone already is no mistake; an action all the same, because hcloud has to have one to wait for.
  for (const { server, application } of servers) actions.push(remove(call, record, [server], application));
  for (const application of selectors) {
    const selected = application === undefined ? [] : selectedBy(call.world, record, application, call.now_ms);
    actions.push(remove(call, record, selected, application));
  }
  return answer(call, actions);
}

function targetsOf(call: Call, name: "apply_to" | "remove_from"): Targets {
  const fields = new Fields(call.body);
  fields.require(name);
  const targets = readTargets(fields, name);
  fields.check();
  return targets;
}

function isInMotion({ pending_until_ms, until_ms }: Lasting, now_ms: number): boolean {
  return now_ms < pending_until_ms || until_ms !== Infinity;
}

type Lasting = Pick<SelectorApplication, "pending_until_ms" | "until_ms">;

/** Puts a firewall on these; servers show it as pending until the action has ended. */
export function startApplying(
  call: Call,
  record: FirewallRecord,
  servers: ServerRecord[],
  selectors: Targets["selectors"],
): ActionRecord[] {
  const onServers = servers.map((server) => {
    const action = start(call, record, [server], "apply_firewall");
    record.servers.push({ server_id: server.view.id, ...lasting(action) });
    return action;
  });
  const onSelectors = selectors.map((target) => {
    const selected = selectedBy(call.world, record, target, call.now_ms);
    const action = start(call, record, selected, "apply_firewall");
    record.selectors.push({ ...target, ...lasting(action) });
    return action;
  });
  return [...onServers, ...onSelectors];
}

/** How long a firewall is pending and there, when this action applies it. */
export function lasting({ ends_ms, failure }: ActionRecord): Lasting {
  return { pending_until_ms: ends_ms, until_ms: failure === null ? Infinity : ends_ms };
}

function remove(
  call: Call,
  record: FirewallRecord,
  servers: ServerRecord[],
  application: Lasting | undefined,
): ActionRecord {
  const action = start(call, record, servers, "remove_firewall");
  if (action.failure === null && application !== undefined) application.until_ms = action.ends_ms;
  return action;
}

// A server goes on with its life meanwhile.
function start(call: Call, record: FirewallRecord, servers: ServerRecord[], command: string): ActionRecord {
  return startAction(call.world, [record, ...servers], { ...actionPlan(call, command), hold: "nothing" });
}

function answer(call: Call, actions: ActionRecord[]): Reply {
  return created({ actions: actions.map((action) => renderAction(action, call.now_ms)) });
}
