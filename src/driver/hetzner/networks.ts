import type * as z from "zod";
import { LABEL, uidIn } from "../../machine/labels.ts";
import type { Labels } from "../../machine/machine.ts";
import { checkIpRange, checkRoute } from "../../machine/network.ts";
import type { Resource } from "../../machine/resource.ts";
import { DriverError, invalidInput, looking } from "../driver.ts";
import type { Networks } from "../capabilities.ts";
import { checkId } from "./account.ts";
import { toAction } from "./actions.ts";
import type { Client } from "./client.ts";
import { answerOf, createResources, listAll, make, ONE_PAGE, type Kind } from "./resources.ts";
import { actionAnswer, location, network } from "./schema.ts";

const NETWORK: Kind<z.infer<typeof network>> = {
  plural: "networks",
  singular: "network",
  shape: network,
  machines: ({ servers, load_balancers: others = [] }) => servers && others && [...servers, ...others],
};
const answer = answerOf(NETWORK);

/** Private networks of a Hetzner Cloud project (S132-S144). Their names are unique, but whose one is only its uid label tells. */
export function createNetworks(call: Client): Networks {
  const resources = createResources(call, NETWORK);

  /** The network that an earlier try made, if this one's uid label is on it (S135). */
  async function made(labels: Labels): Promise<Resource | null> {
    const uid = uidIn(labels);
    if (uid === "") return null;
    // Not trusted to have selected (S80).
    return (await resources.list({ [LABEL.uid]: uid }, ONE_PAGE)).find((one) => uidIn(one.labels) === uid) ?? null;
  }

  /** A region's network zone, from the provider's own list and from no table of ours (S134). */
  async function zoneOf(region: string): Promise<string> {
    const [found] = await listAll(call, "locations", location, { ...ONE_PAGE, query: { name: region } });
    if (found?.name !== region) throw invalidInput({ field: "region", rule: "must be a location of the provider" });
    return found.network_zone;
  }

  return {
    ...resources,

    async create({ name, ipRange, region, labels }) {
      const range = checkIpRange(ipRange);
      if (!range.ok) throw invalidInput(range.problem);
      const before = await made(labels);
      if (before !== null) return before;
      const subnet = { type: "cloud", ip_range: ipRange, network_zone: await zoneOf(region) };
      const body = { name, ip_range: ipRange, labels, subnets: [subnet] };
      try {
        return await make(call, NETWORK, body);
      } catch (error) {
        if (!(error instanceof DriverError) || (error.code !== "name_taken" && !error.ambiguous)) throw error;
        const after = await looking(error, () => made(labels));
        if (after === null) throw error;
        return after;
      }
    },

    async attach(id, machineId) {
      const path = `/servers/${checkId(machineId)}/actions/attach_to_network`;
      try {
        const body = { network: Number(checkId(id, "id")) };
        const { action } = await call({ method: "POST", path, body, answer: actionAnswer });
        return [toAction(call, action)];
      } catch (error) {
        // This one alone: all other refusals mean that it is not attached (S138).
        if (!(error instanceof DriverError) || error.code !== "already_done") throw error;
        return [];
      }
    },

    async addRoute(id, destination, gateway) {
      const path = `/networks/${checkId(id, "id")}`;
      const shown = await call({ method: "GET", path, absence: "not_found", answer });
      const route = checkRoute(shown.ip_range, destination, gateway);
      if (!route.ok) throw invalidInput(route.problem);
      const there = shown.routes.find((one) => one.destination === destination);
      if (there?.gateway === gateway) return [];
      if (there)
        throw new DriverError("conflict", call.hide(`the network has a route to ${destination} over ${there.gateway}`));
      const order = { method: "POST", path: `${path}/actions/add_route`, body: route.value } as const;
      const { action } = await call({ ...order, answer: actionAnswer });
      return [toAction(call, action)];
    },
  };
}
