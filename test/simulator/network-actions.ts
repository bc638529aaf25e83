import { actionPlan, startAction, started } from "./action-record.ts";
import type { Call, Reply } from "./call.ts";
import { ApiError, invalidField, notFound } from "./errors.ts";
import { Fields } from "./fields.ts";
import { contains, includes, parseIpv4 } from "./ip-ranges.ts";
import { rangeOf, withRoute, withSubnet } from "./network-layout.ts";
import { networkAt, refuseWhileChanging, taking, type NetworkRecord, type NetworkState } from "./network-record.ts";
import { readNetworkRange } from "./networks.ts";

/** `POST /networks/{id}/actions/add_subnet`. Source: Hetzner API, Network Actions. */
export const addSubnet = change("add_subnet", ["type", "network_zone"], (call, _record, state) =>
  withSubnet(state, call.body),
);

/** `POST /networks/{id}/actions/delete_subnet`: not while anything is in it. Source: Hetzner API, Network Actions. */
export const deleteSubnet = change("delete_subnet", ["ip_range"], ({ body, now_ms }, record, state) => {
  const subnet = state.subnets.find(({ ip_range }) => ip_range === body["ip_range"]);
  if (subnet === undefined) throw notFound("subnet");
  const range = rangeOf(subnet.ip_range);
  if (taking(record, now_ms).some(({ ip }) => includes(range, parseIpv4(ip) ?? -1n)))
    throw new ApiError(422, "service_error", "subnet still has attached resources");
  return { ...state, subnets: state.subnets.filter((other) => other !== subnet) };
});

/** `POST /networks/{id}/actions/add_route`. Source: Hetzner API, Network Actions. */
export const addRoute = change("add_route", ["destination", "gateway"], (call, _record, state) =>
  withRoute(state, call.body),
);

/** `POST /networks/{id}/actions/delete_route`. Source: Hetzner API, Network Actions. */
export const deleteRoute = change("delete_route", ["destination", "gateway"], ({ body }, _record, state) => {
  const route = state.routes.find(
    ({ destination, gateway }) => destination === body["destination"] && gateway === body["gateway"],
  );
  if (route === undefined) throw notFound("route");
  return { ...state, routes: state.routes.filter((other) => other !== route) };
});

/** `POST /networks/{id}/actions/change_ip_range`: it grows at its end alone. Source: Hetzner API, Network Actions. */
export const changeIpRange = change("change_ip_range", ["ip_range"], (call, _record, state) => {
  const fields = new Fields(call.body);
  const ip_range = readNetworkRange(fields);
  fields.check();
  const [before, after] = [rangeOf(state.ip_range), rangeOf(ip_range)];
  if (before.first !== after.first || !contains(after, before))
    throw invalidField("ip_range", "The range can only be extended, at its end.");
  return { ...state, ip_range };
});

/** `POST /networks/{id}/actions/change_protection`. Source: Hetzner API, Network Actions. */
export const changeProtection = change("change_protection", [], (call, _record, state) => {
  const fields = new Fields(call.body);
  const protection = { delete: fields.boolean("delete", state.protection.delete) };
  fields.check();
  return { ...state, protection };
});

// A network takes one change at a time, and shows it when the action has ended.
function change(
  command: string,
  required: string[],
  changed: (call: Call, record: NetworkRecord, state: NetworkState) => NetworkState,
) {
  return (call: Call, record: NetworkRecord): Reply => {
    const fields = new Fields(call.body);
    fields.require(...required);
    fields.check();
    refuseWhileChanging(call, record);
    const state = changed(call, record, networkAt(record, call.now_ms));
    const action = startAction(call.world, [record], actionPlan(call, command));
    if (action.failure === null) record.states.push({ at_ms: action.ends_ms, state });
    return started(call, action);
  };
}
