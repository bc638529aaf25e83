import { LOCATIONS } from "./locations.ts";
import { atPercent, price } from "./prices.ts";
import { SERVER_TYPES } from "./server-types.ts";
import type { World } from "./world.ts";

const IPV4_HOURLY = "0.0008";
const IPV4_MONTHLY = "0.5000";
const FLOATING_IPV4_MONTHLY = "3.0000";
const FLOATING_IPV6_MONTHLY = "1.0000";

/** What a Primary IPv4 costs, location by location, by the catalogue. */
export const IPV4_PRICES = everywhere({ price_hourly: price(IPV4_HOURLY), price_monthly: price(IPV4_MONTHLY) });

/** The answer of `GET /pricing` in the project owner's currency (ISO 4217): what new orders cost. Source: Hetzner API, Pricing. */
export function pricing({ currency, price_percent }: Pick<World, "currency" | "price_percent">) {
  return {
    currency,
    vat_rate: "19.00",
    image: { price_per_gb_month: price("0.0143") },
    floating_ip: { price_monthly: price(FLOATING_IPV4_MONTHLY) },
    floating_ips: [
      { type: "ipv4", prices: everywhere({ price_monthly: price(FLOATING_IPV4_MONTHLY) }) },
      { type: "ipv6", prices: everywhere({ price_monthly: price(FLOATING_IPV6_MONTHLY) }) },
    ],
    primary_ips: [
      { type: "ipv4", prices: atPercent(IPV4_PRICES, price_percent) },
      { type: "ipv6", prices: everywhere({ price_hourly: price("0.0000"), price_monthly: price("0.0000") }) },
    ],
    server_backup: { percentage: "20.00" },
    server_types: SERVER_TYPES.map(({ id, name, prices }) => ({ id, name, prices: atPercent(prices, price_percent) })),
    load_balancer_types: [],
    volume: { price_per_gb_month: price("0.0572") },
  };
}

function everywhere<Prices extends object>(prices: Prices) {
  const at = (location: string) => ({ location, ...prices });
  return LOCATIONS.map(({ name }) => at(name));
}
