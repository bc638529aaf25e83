// How soon a sender of events is answered when 200 come at once and the provider hangs: what is taken on is carried out behind the answer.
import { createServer, type Server } from "node:http";
import { bareModules } from "./bundles.ts";
import type { Bench, Group } from "./figure.ts";
import { deliveryOf, HOOK_SETTINGS, type Delivery } from "./hook.ts";
import { freePort } from "./inspector.ts";
import { openConnections, send } from "./load.ts";
import { spreadOf, spreadText } from "./statistics.ts";
import { startWorld, type WorldOptions } from "./world.ts";

const AT_ONCE = 200;
const ROUNDS = 5;

export const intake: Group = {
  names: ["intake: 200 at once ÷ one HMAC and insert"],
  async measure(bench) {
    const hanging = await startHanging();
    try {
      const settings = { ...HOOK_SETTINGS, HCLOUD_ENDPOINT: `${hanging.url}/v1` };
      const modules = await bareModules();
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let round = 1; round <= ROUNDS; round++) {
        bench.say(`intake: ${round} of ${ROUNDS}`);
        const asked = hanging.asked();
        ours.push(await burst(bench, { settings }, "/v1/hooks/bench"));
        if (hanging.asked() === asked) throw new Error("no event has come as far as the provider");
        theirs.push(await burst(bench, { modules, settings }, "/hook"));
      }
      const [mayfly, bare] = [spreadOf(ours), spreadOf(theirs)];
      const note = `p50 ${spreadText(mayfly, 0)} ms ÷ ${spreadText(bare, 0)} ms`;
      return [{ name: "intake: 200 at once ÷ one HMAC and insert", value: mayfly.median / bare.median, note }];
    } finally {
      await hanging.stop();
    }
  },
};

/** The p50 of a burst to a Worker that has answered one like it, whose events had nothing to end; milliseconds. */
async function burst(bench: Bench, options: WorldOptions, path: string): Promise<number> {
  const world = await startWorld(bench, options);
  const agent = openConnections(AT_ONCE);
  try {
    const sendAll = (deliveries: readonly Delivery[]) =>
      Promise.all(deliveries.map((one) => send(agent, { method: "POST", url: world.url + path, ...one }, 202)));
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => index + 1);
    await sendAll(numbers.map((number) => deliveryOf(number, "closed")));
    const opened = numbers.map((number) => deliveryOf(number + AT_ONCE, "opened"));
    return spreadOf(await sendAll(opened)).median;
  } finally {
    agent.destroy();
    await world.stop();
  }
}

/** A provider that takes every request and answers none. */
async function startHanging() {
  let asked = 0;
  const server: Server = createServer(() => {
    asked += 1;
  });
  const port = await freePort();
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    asked: () => asked,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
