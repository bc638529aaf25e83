/** What other people have in the same project from the beginning, with labels that would tempt a careless reaper. None of it is ours. */
import { LABEL } from "../../../src/machine/labels.ts";
import { KEY_B } from "../../simulator/sample-keys.ts";
import type { State } from "../../simulator/simulator.ts";
import type { Provider } from "./provider.ts";

/** The key that stood in the project before anybody asked mayfly for it. */
export const KNOWN_KEY = KEY_B;

type Kind = "firewalls" | "networks" | "ssh_keys" | "servers";

export type Strangers = Awaited<ReturnType<typeof openStrangers>>;

/** Puts them in as they were long before `now`, unix milliseconds. */
export async function openStrangers(
  { simulator, byHand }: Pick<Provider, "simulator" | "byHand">,
  ours: string,
  now: number,
) {
  const past = String(Math.floor(now / 1000) - 7 * 86_400);
  const tempting = {
    [LABEL.uid]: "99999999-0000-4000-8000-000000000001",
    [LABEL.owner]: "tok.ann",
    [LABEL.name]: "a",
    [LABEL.expires]: past,
    [LABEL.max]: past,
    [LABEL.created]: past,
  };
  const labelings = {
    // Ours, and nobody has said that it may be managed.
    unmanaged: { ...tempting, [LABEL.installation]: ours },
    switched: { ...tempting, [LABEL.managed]: "false", [LABEL.installation]: ours },
    other: { ...tempting, [LABEL.managed]: "true", [LABEL.installation]: `${ours}-2` },
    bare: {},
  };
  const remembered = new Map<string, string>();

  const look = (kind: Kind, id: number): string => JSON.stringify(factsOf(simulator.state(), kind, id));
  const remember = (kind: Kind, id: number): void => void remembered.set(`${kind} ${id}`, look(kind, id));
  const isNew = (kind: Kind, id: number): boolean => !remembered.has(`${kind} ${id}`);
  const rememberNew = (kind: Kind): void => {
    for (const { id } of simulator.state()[kind]) if (isNew(kind, id)) remember(kind, id);
  };

  for (const [word, labels] of Object.entries(labelings)) {
    const name = `theirs-${word}`;
    simulator.addServer({ name, created: "2026-01-01T00:00:00Z", labels });
    const rules = [{ direction: "in", protocol: "tcp", port: "443", source_ips: ["0.0.0.0/0"] }];
    await byHand("POST", "/firewalls", { name, labels, rules });
    await byHand("POST", "/networks", { name, labels, ip_range: "10.9.0.0/16" });
  }
  await byHand("POST", "/ssh_keys", { name: "theirs", public_key: KNOWN_KEY, labels: labelings.unmanaged });
  const kinds = ["servers", "firewalls", "networks", "ssh_keys"] as const;
  for (const kind of kinds) rememberNew(kind);

  return {
    /** From now on this is somebody else's as well, as it is. */
    remember,
    /** I2: what is not as it was. */
    changed: (): string[] =>
      [...remembered].flatMap(([word, before]) => {
        const one = kinds.find((kind) => word.startsWith(`${kind} `)) ?? "servers";
        return look(one, Number(word.split(" ")[1])) === before ? [] : [word];
      }),
  };
}

/** What somebody could change of it: a server's status changes by itself, and so does what uses a firewall or a network. */
function factsOf(state: State, kind: Kind, id: number) {
  if (kind === "servers") {
    const server = state.servers.find((one) => one.id === id);
    return server && { name: server.name, labels: server.labels, protection: server.protection };
  }
  if (kind === "networks") {
    const network = state.networks.find((one) => one.id === id);
    return network && { name: network.name, labels: network.labels, routes: network.routes, subnets: network.subnets };
  }
  if (kind === "firewalls") {
    const firewall = state.firewalls.find((one) => one.id === id);
    return firewall && { name: firewall.name, labels: firewall.labels, rules: firewall.rules };
  }
  return state.ssh_keys.find((one) => one.id === id);
}
