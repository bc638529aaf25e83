/** Lets happen what an operator and people's hands do. */
import { firewallsOf } from "./world/truth.ts";
import { performOperator } from "./acts/operator.ts";
import { perform, type Scene } from "./acts.ts";
import { strike } from "./judge/books.ts";
import type { OperatorStep } from "./kinds/operator-steps.ts";
import { meet } from "./tally.ts";
import type { HandMade, openHands } from "./world/hands.ts";
import type { Circumstances, Mishap } from "./world/invocation.ts";
import type { Operations } from "./world/operations.ts";
import { MINUTE } from "./world/settings.ts";

interface Stage {
  readonly scene: Scene;
  readonly operations: Operations;
  readonly hands: ReturnType<typeof openHands>;
  readonly tick: () => Promise<void>;
}

/** Lets it happen. */
export async function takeOperator(
  { scene, operations, hands, tick }: Stage,
  step: OperatorStep,
  circumstances: (mishap: Mishap | null) => Circumstances,
): Promise<void> {
  const byHands = async (what: HandMade, which: number, most: number): Promise<void> => {
    const those = await hands.act(what, which, most);
    meet(scene.books.met, `by hand ${what}`);
    strike(scene.books, "by hand", scene.clock.now);
    for (const before of those) {
      if (what === "take_off_firewalls" || what === "take_out_of_networks") {
        const { unfinished } = scene.books;
        // What it has by the second time may not be what it was made with.
        if (!unfinished.has(before.id)) unfinished.set(before.id, firewallsOf(before));
      }
      scene.judge.changedByHand(before);
    }
    // That many machines are missing has sweeps doubt the inventory, for as long as nobody says that it is right.
    if (what === "delete") scene.books.doubts.add("machines were taken by hand");
  };
  switch (step.do) {
    case "token":
      // Rows without a machine are kept under another token, until somebody says that they may go.
      scene.books.doubts.add("the token is another");
      return operations.token(step.to);
    case "installation":
      return operations.move(step.what);
    case "epoch":
      return operations.epoch();
    case "creates":
      return operations.creates(step.to);
    case "by_hand":
      return byHands(step.what, step.which, step.count);
    case "wave":
      for (let number = 0; number < step.count; number++)
        await perform(
          scene,
          { do: "create", owner: "tok.ann", name: `w${number}`, ttl: "3h", spec: step.what === "laid_bare" ? 2 : 0 },
          circumstances(null),
        );
      if (step.what === "still_born") return byHands("power_off", 0, step.count);
      if (step.what === "laid_bare") return byHands("take_off_firewalls", 0, step.count);
      // So that they were seen to run.
      for (let minute = 0; minute < 2; minute++) {
        scene.clock.now += MINUTE;
        await tick();
      }
      return byHands("delete", 0, step.count);
    default:
      return performOperator(scene, step, circumstances(step.mishap));
  }
}
