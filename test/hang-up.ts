/**
 * Callers that hang up. What an invocation has handed to `waitUntil` goes on to its end, and keeps all of the invocation alive for as long; as
 * soon as nothing of it is left, Cloudflare ends whatever else is still under way. It ends so too when the answer is there.
 */
import { env } from "cloudflare:workers";
import { between } from "./behind.ts";
import type { Mayfly } from "./mayfly.ts";
import { through } from "./trips.ts";

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Never: the caller stays. After so many trips to D1 or the provider it hangs up, as the next one sets out. */
export type HangsUp = "never" | number;

/** After so many turns of the event loop in which nothing sets out, nothing does any more. */
const QUIET_TURNS = 5;

/**
 * Sends a call whose caller hangs up, and answers how many trips it has made by its end. With `isKept` nothing is ended, whether it was
 * handed over or not.
 */
export async function callAndHangUp(mayfly: Mayfly, call: Call, when: HangsUp, isKept = false): Promise<number> {
  const handedOver = new Set<Promise<unknown>>();
  const underWay = new Set<Promise<unknown>>();
  const hungUp = Promise.withResolvers<void>();
  let isAlone = false;
  let trips = 0;
  const isOver = () => isAlone && handedOver.size === 0 && !isKept;
  const hangUp = () => {
    isAlone = true;
    hungUp.resolve();
  };
  const keep = (all: Set<Promise<unknown>>, work: Promise<unknown>) => {
    const settled = Promise.allSettled([work]).finally(() => all.delete(settled));
    all.add(settled);
  };
  const never = () => new Promise<never>(() => {});
  async function go<T>(send: () => Promise<T>): Promise<T> {
    if (trips++ === when) {
      // Between two turns of the event loop: within one, what is begun is also handed over.
      await scheduler.wait(0);
      hangUp();
    }
    if (isOver()) return never();
    const sent = send();
    keep(underWay, sent);
    const answer = await sent;
    return isOver() ? never() : answer;
  }

  mayfly.configure({ DB: through(env.DB, (_trip, send) => go(send)) });
  between(mayfly, (request, real) => go(() => real(request)));
  const context = {
    waitUntil: (work: Promise<unknown>) => keep(handedOver, work),
    passThroughOnException: () => {},
    props: {},
  };
  const { path, ...init } = call;
  const answered = Promise.resolve(mayfly.app.request(path, init, mayfly.bindings, context));
  await Promise.race([answered, hungUp.promise]);
  isAlone = true;
  while (handedOver.size > 0) await Promise.all(handedOver);
  for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
    if (underWay.size > 0) quiet = 0;
    await Promise.all(underWay);
    await scheduler.wait(0);
  }
  mayfly.configure({ DB: env.DB });
  return trips;
}
