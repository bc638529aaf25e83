import type { Machine } from "../../machine/machine.ts";
import type { Capabilities } from "../capabilities.ts";
import { askPricing, checkId, DEFAULT_CURRENCY, type HetznerOptions } from "./account.ts";
import { deletionError, readAction } from "./actions.ts";
import { createClient } from "./client.ts";
import { checkReserve, hasReserve } from "./rate-limit.ts";
import { createFirewalls } from "./firewalls.ts";
import { checkImage, findSnapshot } from "./images.ts";
import { findServer, listServerPage } from "./list.ts";
import { toMachine } from "./machine.ts";
import { createNetworks } from "./networks.ts";
import { createSshKeys } from "./ssh-keys.ts";
import type { Server } from "./server.ts";
import { listServerTypes } from "./server-types.ts";

/** What a Hetzner Cloud project can do besides. */
export function createHetznerCapabilities(options: HetznerOptions): Required<Capabilities> {
  const { account = {}, currency = DEFAULT_CURRENCY } = options;
  const payer = { account, currency };
  const call = createClient(options, account);
  const read = (server: Server): Machine => toMachine(server, options.now(), payer);
  return {
    sshKeys: createSshKeys(call),
    firewalls: createFirewalls(call),
    networks: createNetworks(call),

    findByName: (name) => findServer(call, read, name),

    inventoryPage: (selector, number, pages) => listServerPage(call, read, selector, { ...pages, number }),

    async serverTypes(pages) {
      if (account.ipv4Prices === undefined) await askPricing(call, account, pages?.timeoutMs);
      return listServerTypes(call, payer, pages);
    },

    action: (id) => readAction(call, id),

    deletionError: (providerId) => deletionError(call, providerId),

    findSnapshot: (labelSelector, serverType) => findSnapshot(call, labelSelector, serverType),

    checkImage: (image) => checkImage(call, image),

    async relabel({ providerId, labels: shown }, labels) {
      // The API replaces the whole map.
      const body = { labels: { ...shown, ...labels } };
      const path = `/servers/${checkId(providerId)}`;
      await call.order({ method: "PUT", path, body, absence: "not_found" });
    },

    currency: () => account.currency ?? null,
    recallCurrency: (known) => void (account.currency ??= known),
    otherCurrency: () => (account.currency === currency ? null : (account.currency ?? null)),

    hasHeadroom: () => hasReserve(account.rate, options.now()),
    checkHeadroom: () => checkReserve(account.rate, options.now()),
  };
}
