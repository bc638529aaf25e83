/** Stands in for the judge that is to come, over the books that there are. */
import * as z from "zod";
import { keyOf, labelEnd, uidOf } from "../world/truth.ts";
import type { ServerState } from "../../simulator/simulator.ts";
import { strike, type Books } from "./books.ts";
import type { Judge } from "./judge.ts";
import type { Clock } from "../world/provider.ts";

const machineAnswer = z.object({
  machine: z.object({ id: z.templateLiteral(["mch_", z.string()]), expires_at: z.iso.datetime() }),
});

export function standIn(books: Books, clock: Clock, ourServers: () => ServerState[]): Judge {
  const askAll = (which: (server: ServerState) => boolean): void => {
    for (const server of ourServers()) if (which(server)) books.asked.add(uidOf(server));
  };
  return {
    asks(ask) {
      if (ask.do === "destroy_all") books.words.push({ which: ask.which, at: clock.now });
      const isOne = (server: ServerState): boolean =>
        ask.do === "destroy" && keyOf(server) === `${ask.owner}/${ask.name}`;
      if (ask.do === "destroy") books.asking.add(`${ask.owner}/${ask.name}`);
      return (answer) => {
        if (ask.do === "destroy_all") books.words.push({ which: ask.which, at: clock.now });
        if (ask.do === "destroy") {
          books.asking.delete(`${ask.owner}/${ask.name}`);
          askAll(isOne);
        }
        const parsed = machineAnswer.safeParse(
          JSON.parse(answer === undefined || answer.text === "" ? "null" : answer.text),
        );
        if (!parsed.success || (answer?.status ?? 500) >= 300) return;
        if (ask.do !== "create" && ask.do !== "renew") return;
        const { machine } = parsed.data;
        books.told.set(machine.id.slice("mch_".length), Date.parse(machine.expires_at));
      };
    },
    databaseChanged: () => {},
    changedByHand(before) {
      const after = ourServers().find(({ id }) => id === before.id);
      if (after !== undefined)
        books.told.set(uidOf(after), Math.min(books.told.get(uidOf(after)) ?? Infinity, labelEnd(after)));
      strike(books, "hand", clock.now);
    },
    excuse: (why) => void books.excuses.add(why),
    excuseNoMore: (why) => {
      books.excuses.delete(why);
      books.struckAt = clock.now;
    },
  };
}
