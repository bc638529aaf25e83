/** What the operator of one mayfly has set, and sets otherwise. */
import type { Books } from "../judge/books.ts";
import { meet } from "../tally.ts";
import type { Judge } from "../judge/judge.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import type { State } from "../../simulator/simulator.ts";
import type { Callers } from "./callers.ts";
import type { Installation } from "./installation.ts";
import { PROVIDER_TOKENS, type ProviderToken } from "./settings.ts";
import type { Clock } from "./provider.ts";
import { labelsOf, movedName } from "./truth.ts";

/**
 * `move`: to another name, the ones before named; `move_unnamed`: they are not; `forget`: they are named no more; `name`: they are named
 * after all.
 */
export type Move = "move" | "move_unnamed" | "forget" | "name";

interface Given {
  readonly mayfly: Installation;
  readonly callers: Callers;
  readonly judge: Judge;
  readonly books: Books;
  readonly clock: Clock;
}

export type Operations = ReturnType<typeof openOperations>;

/** `installation` is what it is called first. */
export function openOperations({ mayfly, callers, judge, books, clock }: Given, installation: string) {
  let token: ProviderToken = "first";
  let moves = 0;
  let areOthersNamed = true;
  let epoch = 1;
  let creates: "on" | "off" = "on";

  const names = (): string[] => Array.from({ length: moves }, (_, index) => movedName(installation, index));
  const set = (): void =>
    mayfly.configure({
      HCLOUD_TOKEN: PROVIDER_TOKENS[token],
      INSTALLATION: movedName(installation, moves),
      PREVIOUS_INSTALLATIONS: areOthersNamed ? names().join(",") : "",
      AUTH_EPOCH: String(epoch),
      CREATES: creates,
    });
  const excuse = (why: string, isSo: boolean): void => (isSo ? judge.excuse(why) : judge.excuseNoMore(why));

  return {
    token(to: ProviderToken): void {
      meet(books.met, `token ${to}`);
      token = to;
      excuse("the token rules another project", to === "elsewhere");
      set();
    },
    move(what: Move): void {
      // Of two names that were forgotten nobody would know the first one any more.
      if (what !== "name" && !areOthersNamed) return;
      meet(books.met, `installation ${what}`);
      if (what === "move" || what === "move_unnamed") moves += 1;
      areOthersNamed = what === "move" || what === "name";
      excuse("its machines are not named as its own", !areOthersNamed);
      set();
    },
    epoch(): void {
      meet(books.met, "epoch");
      epoch += 1;
      callers.end("all", clock.now);
      set();
    },
    creates(to: "on" | "off"): void {
      meet(books.met, `creates ${to}`);
      creates = to;
      set();
    },
    /** All as it should be, whatever was set. */
    restore(): void {
      if (token === "elsewhere") this.token("first");
      if (!areOthersNamed) this.move("name");
      if (creates === "off") this.creates("on");
    },
    isAway: (): boolean => token === "elsewhere",
    /** Holds a call against what is set, before it takes effect: nothing is made under the brake, and nothing of an unnamed one touched. */
    watch({ method, url }: Pick<Request, "method" | "url">, state: () => State): void {
      const { pathname } = new URL(url);
      const isMaking = method === "POST" && /^\/v1\/(servers|firewalls|networks|ssh_keys)$/.test(pathname);
      if (isMaking && creates === "off") books.broken.push(`brake: ${method} ${pathname} though CREATES is off`);
      const [, plural, id] = /^\/v1\/(servers|firewalls|networks|ssh_keys)\/(\d+)/.exec(pathname) ?? [];
      if (method === "GET" || areOthersNamed) return;
      if (plural !== "servers" && plural !== "firewalls" && plural !== "networks" && plural !== "ssh_keys") return;
      const one = [...state()[plural]].find((each) => each.id === Number(id));
      const theirs = one === undefined ? undefined : labelsOf(one)[LABEL.installation];
      if (theirs !== undefined && theirs !== movedName(installation, moves))
        books.broken.push(`I2: ${method} ${pathname} of ${theirs}, which nobody has named as its own`);
    },
  };
}
