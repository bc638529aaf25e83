import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import { openProvider } from "../world/provider.ts";
import { openStrangers } from "../world/strangers.ts";
import { HOUR, MINUTE, NOW } from "../world/settings.ts";
import { judgeBeside } from "./beside.ts";
import { openBooks } from "./books.ts";

const UID = "00000000-0000-4000-8000-000000000007";
const labels = { [LABEL.managed]: "true", [LABEL.installation]: env.INSTALLATION, [LABEL.uid]: UID };
const told = (status: number, end: number) => ({
  status,
  text: JSON.stringify({
    network: {
      id: `net_${UID}`,
      owner: "tok.ann",
      name: "x",
      status: "active",
      expires_at: new Date(end).toISOString(),
    },
  }),
});

/** A provider with a network of ours, which was promised an hour. */
async function open() {
  const clock = { now: NOW, skew: 0, ahead: 0 };
  const books = openBooks();
  const provider = openProvider(clock, books, async () => () => {});
  const judge = judgeBeside(provider.simulator, books, clock, env.INSTALLATION);
  await provider.byHand("POST", "/networks", {
    name: "x",
    labels,
    ip_range: "10.0.0.0/16",
    subnets: [{ type: "cloud", ip_range: "10.0.0.0/24", network_zone: "eu-central" }],
  });
  const id = provider.simulator.state().networks[0]?.id ?? 0;
  judge.make("network", "tok.ann", "x", HOUR)(told(201, NOW + HOUR));
  const send = (method: string, path: string) =>
    judge.watch(new Request(`https://api.hetzner.cloud/v1${path}`, { method }));
  return { clock, books, provider, judge, id, send };
}

describe("what machines use is judged by what its owner was told", () => {
  it("I4: it goes at its end, or when that was asked for, and not before", async () => {
    const { books, send, id, clock, judge } = await open();
    send("DELETE", `/networks/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I4: .* is deleted before 13:00:00/)]);
    judge.unmake("tok.bob", "all");
    judge.unmake("tok.ann", { kind: "firewall", name: "x" });
    send("DELETE", `/networks/${id}`);
    expect(books.broken).toHaveLength(2);
    judge.unmake("tok.ann", { kind: "network", name: "x" });
    send("DELETE", `/networks/${id}`);
    const late = await open();
    late.clock.now += HOUR;
    late.send("DELETE", `/networks/${late.id}`);
    expect([books.broken.length, late.books.broken, clock.now]).toEqual([2, [], NOW]);
  });

  it("I4: a network does not go under a server that is in it", async () => {
    const { books, send, id, clock, provider } = await open();
    const server = provider.simulator.addServer({ name: "a" });
    await provider.byHand("POST", `/servers/${server.id}/actions/attach_to_network`, { network: id });
    clock.now += HOUR;
    send("DELETE", `/networks/${id}`);
    expect(books.broken).toEqual([expect.stringMatching(/^I4: .* under server/)]);
  });

  it("I4: a new one has the length that was asked for, and a repeat moves no end that lies ahead", async () => {
    const { books, judge, clock } = await open();
    clock.now += MINUTE;
    judge.make("network", "tok.ann", "x", HOUR)(told(200, NOW + HOUR));
    expect(books.broken).toEqual([]);
    judge.make("network", "tok.ann", "x", HOUR)(told(200, clock.now + HOUR));
    judge.make("network", "tok.ann", "x", HOUR)(told(201, clock.now + 2 * HOUR));
    expect(books.broken).toEqual([
      expect.stringMatching(/^I4: a repeat/),
      expect.stringMatching(/^I4: .* not 3600000 ms/),
    ]);
  });

  it("I2: what is somebody else's is neither asked for anything nor changed", async () => {
    const { books, send, provider } = await open();
    const strangers = await openStrangers(provider, env.INSTALLATION, NOW);
    const theirs = provider.simulator.state().firewalls.find(({ name }) => name === "theirs-unmanaged")?.id ?? 0;
    send("GET", `/firewalls/${theirs}`);
    expect([books.broken, strangers.changed()]).toEqual([[], []]);
    send("POST", `/firewalls/${theirs}/actions/set_rules`);
    await provider.byHand("PUT", `/firewalls/${theirs}`, { name: "renamed" });
    expect(books.broken).toEqual([expect.stringMatching(/^I2: POST .* not ours/)]);
    expect(strangers.changed()).toEqual([`firewalls ${theirs}`]);
  });
});
