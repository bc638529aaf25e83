import { HOUR, type Cloud } from "./contract/cloud.ts";
import { describeDriver } from "./contract.ts";
import { openSimulated } from "./hetzner/bench.ts";

const NATIVE = { running: "running", stopped: "off", deleting: "deleting" };

function open(): Cloud {
  const { driver, sim, now, advance } = openSimulated();
  const publicNet = (ip: string) => ({
    ipv4: ip === "" ? null : { id: 1, ip, blocked: false, dns_ptr: "" },
    ipv6: null,
    floating_ips: [],
    firewalls: [],
  });
  return {
    driver,
    now,
    advance,
    put({ name, labels, createdAt = now() - HOUR, status = "running", publicIpv4 = "192.0.2.1", deleteProtected }) {
      const server = sim.addServer({
        name,
        status: NATIVE[status],
        public_net: publicNet(publicIpv4),
        protection: { delete: deleteProtected ?? false, rebuild: false },
        ...(labels === undefined ? {} : { labels }),
        ...(createdAt === null ? {} : { created: new Date(createdAt).toISOString() }),
      });
      return String(server.id);
    },
    // The API cannot do this; a stop and a start at another provider can.
    async readdress(providerId, publicIpv4) {
      const before = sim.state().servers.find(({ id }) => String(id) === providerId);
      await driver.destroy(providerId);
      if (before) sim.addServer({ ...before, public_net: publicNet(publicIpv4) });
    },
    names: () =>
      sim
        .state()
        .servers.map(({ name }) => name)
        .toSorted(),
    offer: { region: "fsn1", serverType: "cx23" },
    absentId: "999",
    foreignIds: ["", "mem-1", "0", "-1", "1.5", "1e3", " 1", "1/../2", "..", "?", "9007199254740992", "٤٢"],
  };
}

describeDriver("hetzner over the simulator", open);
