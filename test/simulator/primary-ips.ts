// The Primary IPs that creates make along the way: they live and die with their server.
import { ok, type Call, type Reply } from "./call.ts";
import { ApiError, notFound } from "./errors.ts";
import { labelFilter, page, sorted } from "./lists.ts";
import { toTimestamp } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** `GET /primary_ips`. Source: Hetzner API, Primary IPs. */
export function listPrimaryIps(call: Call): Reply {
  const query = call.url.searchParams;
  const matches = labelFilter(call);
  const found = allOf(call.world).filter(
    (address) =>
      (query.get("name") ?? address.name) === address.name &&
      (query.get("ip") ?? address.ip) === address.ip &&
      matches(address.labels),
  );
  return page(call, "primary_ips", sorted(call, found, SORT_FIELDS), (address) => address);
}

/** `GET /primary_ips/{id}`. Source: Hetzner API, Primary IPs. */
export function getPrimaryIp(call: Call): Reply {
  return ok({ primary_ip: find(call.world, call.ids[0]) });
}

/** `DELETE /primary_ips/{id}`: all of them belong to a server. Source: Hetzner API, Primary IPs. */
export function deletePrimaryIp(call: Call): Reply {
  find(call.world, call.ids[0]);
  throw new ApiError(422, "must_be_unassigned", "primary IP must be unassigned before it can be deleted");
}

/** How many there are, of both kinds. */
export const countPrimaryIps = (world: World): number => allOf(world).length;

/** Throws what a create meets that wants these Primary IPs: each is of one kind and has a server. */
export function refusePrimaryIps(world: World, wanted: { ipv4: number | null; ipv6: number | null }): void {
  for (const type of ["ipv4", "ipv6"] as const) {
    const id = wanted[type];
    if (id === null) continue;
    if (find(world, id).type !== type)
      throw new ApiError(412, "primary_ip_version_mismatch", `primary IP ${id} is not of type ${type}`);
    throw new ApiError(422, "primary_ip_assigned", `primary IP ${id} is already assigned`);
  }
}

function find(world: World, id: number | undefined): PrimaryIp {
  const found = allOf(world).find((address) => address.id === id);
  if (found === undefined) throw notFound("primary IP");
  return found;
}

type PrimaryIp = ReturnType<typeof primaryIp>;

const SORT_FIELDS = {
  id: (address: PrimaryIp) => address.id,
  created: (address: PrimaryIp) => address.created,
};

function allOf(world: World): PrimaryIp[] {
  const addressesOf = (record: ServerRecord): PrimaryIp[] => {
    // Whoever put a server in may have left this out.
    const ipv4 = record.view.public_net?.ipv4 ?? null;
    const ipv6 = record.view.public_net?.ipv6 ?? null;
    const first =
      ipv4 === null ? [] : [primaryIp(record, "ipv4", ipv4.id, ipv4.ip, [{ ip: ipv4.ip, dns_ptr: ipv4.dns_ptr }])];
    const second = ipv6 === null ? [] : [primaryIp(record, "ipv6", ipv6.id, ipv6.ip, ipv6.dns_ptr)];
    return first.concat(second);
  };
  return [...world.servers.values()].flatMap(addressesOf);
}

function primaryIp(
  { view, born_ms }: ServerRecord,
  type: "ipv4" | "ipv6",
  id: number,
  ip: string,
  dns_ptr: { ip: string; dns_ptr: string }[],
) {
  return {
    id,
    name: `primary_ip-${id}`,
    type,
    ip,
    labels: {},
    created: toTimestamp(born_ms),
    blocked: false,
    location: view.location,
    dns_ptr,
    protection: { delete: false },
    auto_delete: true,
    assignee_type: "server",
    assignee_id: view.id,
  };
}
