/** What callers ask for. */
import { KEY_A } from "../../simulator/sample-keys.ts";
import { LIVES } from "../history.ts";
import type { Order } from "../money/charges-by-hand.ts";
import { CANARY } from "./settings.ts";

export const SPECS = [
  { server_type: "cx23", region: "fsn1", cloud_init: `#cloud-config\n# ${CANARY}` },
  { server_type: ["cx33", "cx23"], region: ["nbg1", "hel1"], keep_on_failure: "20m" },
  {
    server_type: "cx23",
    region: "fsn1",
    ssh_keys: [KEY_A],
    firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: "22" }] }],
    networks: [{ ip_range: "10.0.0.0/16" }],
  },
] as const;

/** For how long it is kept where its job failed; null = not. */
export const keepOf = (spec: (typeof SPECS)[number]): number | null =>
  "keep_on_failure" in spec ? LIVES[spec.keep_on_failure] : null;

/** What may be ordered for one of them: each of its types in each of its regions. */
export const ordersFor = ({ server_type, region }: (typeof SPECS)[number]): Order[] =>
  [server_type].flat().flatMap((type) => [region].flat().map((place) => ({ type, region: place, hasIpv4: true })));
