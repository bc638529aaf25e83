import type { Extras } from "../extras.ts";
import { askPricing, checkId, openClient, type HetznerOptions } from "./account.ts";
import { anyAnswer, serverAnswer } from "./schema.ts";
import { createSshKeys } from "./ssh-keys.ts";
import { listServerTypes } from "./server-types.ts";

/** What a Hetzner Cloud project can do besides. */
export function createHetznerExtras(options: HetznerOptions): Required<Extras> {
  const account = options.account ?? {};
  const call = openClient(options, account);
  return {
    sshKeys: createSshKeys(call),

    async serverTypes() {
      if (account.currency === undefined) await askPricing(call, account);
      return listServerTypes(call, account.currency === "EUR");
    },

    async relabel(providerId, labels) {
      const path = `/servers/${checkId(providerId)}`;
      // The API replaces the whole map, so what is there is read first and sent again.
      const { server } = await call({ method: "GET", path, absence: "not_found", answer: serverAnswer });
      const body = { labels: { ...server.labels, ...labels } };
      await call({ method: "PUT", path, body, absence: "not_found", answer: anyAnswer });
    },
  };
}
