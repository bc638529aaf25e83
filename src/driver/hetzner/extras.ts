import type { Extras } from "../extras.ts";
import { checkId, openClient, type HetznerOptions } from "./account.ts";
import { anyAnswer, serverAnswer } from "./schema.ts";

/** What a Hetzner Cloud project can do besides. */
export function createHetznerExtras(options: HetznerOptions): Required<Extras> {
  const call = openClient(options, options.account ?? {});
  return {
    async relabel(providerId, labels) {
      const path = `/servers/${checkId(providerId)}`;
      // The API replaces the whole map, so what is there is read first and sent again.
      const { server } = await call({ method: "GET", path, absence: "not_found", answer: serverAnswer });
      const body = { labels: { ...server.labels, ...labels } };
      await call({ method: "PUT", path, body, absence: "not_found", answer: anyAnswer });
    },
  };
}
