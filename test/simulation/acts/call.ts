/** One request to one mayfly by whoever it is, told to the judge, counted, and held against what is promised of all answers. */
import type { Ask } from "../judge/judge.ts";
import type { Answer } from "../world/installation.ts";
import type { Circumstances } from "../world/invocation.ts";
import { noteUnseen } from "../judge/unseen.ts";
import type { Scene } from "../acts.ts";
import { meet } from "../tally.ts";
import type { Anybody } from "../world/callers.ts";

export interface Request {
  readonly who: Anybody;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** What it asks of machines; nothing where it is about none. */
  readonly ask?: Ask;
}

/** Undefined where the Worker died over it, or its caller was gone. */
export async function call(scene: Scene, circumstances: Circumstances, request: Request): Promise<Answer | undefined> {
  const { books, clock, mayfly, callers, judge } = scene;
  const { who, method, path, body, ask = { do: "read" } } = request;
  const send = async (own: Circumstances) => {
    const hears = judge.asks(ask);
    const mustFail = callers.isOver(who, clock.now);
    const token = await callers.tokenOf(who, clock.now);
    const given = await mayfly.send(own, { method, path, body, token });
    noteUnseen(scene);
    hears(given);
    if (mustFail && given !== undefined && given.status < 400)
      books.broken.push(`I9: ${method} ${path} by ${who}, whose token has ended, was answered with ${given.status}`);
    return given;
  };
  let answer = await send(circumstances);
  if (answer?.status === 401 && (await callers.renew(who, mayfly, circumstances)))
    answer = await send({ ...circumstances, mishap: null });
  books.answers += 1;
  books.trace.push(`${method} ${path} by ${who}: ${answer?.status ?? "died"}`);
  if (answer === undefined) return answer;
  checkAnswer(scene, answer, `${method} ${path}`);
  if (answer.status < 300) meet(books.served, who);
  return answer;
}

/** I7 and I8, as far as an answer shows them. */
export function checkAnswer({ books, secrets }: Scene, answer: Answer, what: string): void {
  if (answer.status === 500) books.broken.push(`I8: ${what} was answered with 500: ${answer.text}`);
  secrets.answered(answer, what);
}
