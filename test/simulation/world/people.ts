/** What people do in the same project by hand, and that none of it is undone. */
import { LABEL } from "../../../src/machine/labels.ts";
import type { ServerState } from "../../simulator/simulator.ts";
import type { Step } from "../history.ts";
import type { Provider } from "./provider.ts";
import { HOUR } from "./settings.ts";
import { isOf, labelsOf } from "./truth.ts";

export type Edit = Extract<Step, { do: "edit" }>["what"];

const EDITS: Record<Edit, (labels: Record<string, string>, now: number) => Record<string, string>> = {
  unmanaged: ({ [LABEL.managed]: _taken, ...rest }) => rest,
  other_installation: (labels) => ({ ...labels, [LABEL.installation]: "somebody-elses" }),
  bare: () => ({}),
  sooner: (labels, now) => ({ ...labels, [LABEL.expires]: String(Math.floor((now - HOUR) / 1000)) }),
  later: (labels, now) => ({ ...labels, [LABEL.expires]: String(Math.floor((now + 2 * HOUR) / 1000)) }),
};

export function openPeople(
  { simulator, byHand, isOdd }: Pick<Provider, "simulator" | "byHand" | "isOdd">,
  ours: string,
) {
  const serversNow = () => simulator.state().servers;
  const handMade: ServerState["id"][] = [];
  const foreign = new Map<number, string>();

  const pick = (which: number): ServerState | undefined => {
    const mine = serversNow().filter((server) => isOf(server, ours));
    return mine[which % Math.max(1, mine.length)];
  };
  const seen = (id: number): string => JSON.stringify(facts(serversNow().find((server) => server.id === id)));
  const remember = (id: number): void => void foreign.set(id, seen(id));

  return {
    makeByHand(): void {
      // One with a name and an age that would tempt a careless reaper.
      const theirs = {
        [LABEL.managed]: "true",
        [LABEL.installation]: "somebody-elses",
        [LABEL.owner]: "tok.cy",
        [LABEL.name]: `by-hand-${handMade.length}`,
      };
      const labels = handMade.length % 2 === 0 ? {} : theirs;
      const { id } = simulator.addServer({
        name: `by-hand-${handMade.length}`,
        created: "2026-01-01T00:00:00Z",
        labels,
      });
      handMade.push(id);
      remember(id);
    },
    /** Answers the machine as it was before, if there is one. */
    async edit(which: number, what: Edit, now: number): Promise<ServerState | undefined> {
      const server = pick(which);
      if (server === undefined) return undefined;
      await byHand("PUT", `/servers/${server.id}`, { labels: EDITS[what](labelsOf(server), now) });
      if (!serversNow().some((one) => one.id === server.id && isOf(one, ours))) remember(server.id);
      return server;
    },
    async protect(which: number, isOn: boolean): Promise<void> {
      const server = pick(which);
      // The owner of one that seemed to be gone may have ended its row; protected then, it is an alert, and has no row for good.
      if (server !== undefined && !isOdd(server.id)) await setProtection(server.id, isOn);
    },
    async unprotectAll(): Promise<void> {
      for (const { id } of serversNow()) await setProtection(id, false);
      for (const id of foreign.keys()) remember(id);
    },
    /** I2: what is foreign and is not as it was. */
    changed: (): number[] => [...foreign].filter(([id, before]) => seen(id) !== before).map(([id]) => id),
  };

  function setProtection(id: number, isOn: boolean): Promise<void> {
    return byHand("POST", `/servers/${id}/actions/change_protection`, { delete: isOn, rebuild: isOn });
  }
}

/** What somebody could change of a server; its status changes by itself. */
const facts = (server: ServerState | undefined) =>
  server && { id: server.id, name: server.name, labels: server.labels, protection: server.protection };
