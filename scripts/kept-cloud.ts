// The simulated cloud in a file: what it has answered is there at the next start, however the one before came to its end.
import { mkdir, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { ControlError, type Simulator } from "../test/simulator/simulator.ts";
import { readIfThere, replaceFile } from "./files.ts";
import { serveSimulator, type SimulatorServer } from "./simulator-server.ts";

/** Where the simulated cloud lies in a folder for state. */
export const cloudFileIn = (stateDir: string): string => `${stateDir}/simulated-cloud.json`;

/**
 * Serves a simulator that is kept in a file; in memory where none is named. What changes is written there before it is answered. A file
 * that cannot be understood is set aside, and that is told, as is what cannot be written. Rejects where the file cannot be read at all.
 */
export async function serveCloud(simulator: Simulator, port: number, file?: string): Promise<SimulatorServer> {
  if (file === undefined) return serveSimulator(simulator, port);
  await mkdir(dirname(file), { recursive: true });
  const text = await readIfThere(file);
  if (text !== null) await restore(simulator, text, file);
  const save = oneAtATime(() => keep(simulator, file));
  const server = await serveSimulator({ fetch: (request) => answerKept(simulator, request, save) }, port);
  return {
    url: server.url,
    async close() {
      await server.close();
      await save();
    },
  };
}

async function answerKept(simulator: Simulator, request: Request, save: () => Promise<void>): Promise<Response> {
  try {
    return await simulator.fetch(request);
  } finally {
    // Also where the answer is lost on the way: it has happened.
    if (request.method !== "GET") await save();
  }
}

/** The cloud in memory is right all the same; that it will not be there again has to be told. */
async function keep(simulator: Simulator, file: string): Promise<void> {
  try {
    // What callers send along, and may be secret, is in it.
    await replaceFile(file, simulator.save());
  } catch (error) {
    console.error(`the simulated cloud cannot be kept in ${file}: ${String(error)}`);
  }
}

async function restore(simulator: Simulator, text: string, file: string): Promise<void> {
  try {
    simulator.restore(text);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    const aside = `${file}.broken-${Date.now()}`;
    await rename(file, aside);
    console.error(
      `the simulated cloud in ${file} cannot be read, and begins empty; machines that the database remembers are gone with it, ` +
        `and where they are more than three health turns red. The file is kept as ${aside}: ${error.message}`,
    );
  }
}

/** Runs one at a time; who asks while one runs waits for one that begins later, together with all others who do. */
function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= last = last.then(() => {
      next = null;
      return run();
    });
    return next;
  };
}
