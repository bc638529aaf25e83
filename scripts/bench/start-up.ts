// What a cold start costs: the bundle's size, and the time from a process to its first byte beside Hono alone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as z from "zod";
import { honoAlone, ownCode } from "./bundles.ts";
import type { Group } from "./figure.ts";
import { freePort } from "./inspector.ts";
import { spreadOf, spreadText } from "./statistics.ts";

const KIB = 1024;
const RUNS = 21;
const GIVE_UP_MS = 20_000;

export const size: Group = {
  names: ["size: bundle"],
  async measure({ mayfly }) {
    const [value, own] = [packed(mayfly), packed(await ownCode())];
    const plain = (Buffer.byteLength(mayfly) / KIB).toFixed(0);
    return [{ name: "size: bundle", value, note: `${plain} KiB before; bare, without any library: ${own.toFixed(0)}` }];
  },
};

const packed = (code: string): number => gzipSync(code).length / KIB;

export const startUp: Group = {
  names: ["start-up: mayfly ÷ Hono"],
  async measure({ mayfly, say }) {
    const folder = await mkdtemp(join(tmpdir(), "mayfly-bench-"));
    try {
      const port = await freePort();
      const configs = [
        await configOf(folder, "mayfly", mayfly, port),
        await configOf(folder, "hono", await honoAlone(), port),
      ];
      const took: number[][] = configs.map(() => []);
      for (let run = 0; run <= RUNS; run++)
        for (const [index, config] of configs.entries()) {
          if (index === 0 && run % 7 === 0) say(`start-up: ${run} of ${RUNS}`);
          const ms = await firstByte(config, port);
          // The first fills the kernel's caches.
          if (run > 0) took[index]?.push(ms);
        }
      const [ours, hono] = [spreadOf(took[0] ?? []), spreadOf(took[1] ?? [])];
      const note = `mayfly ${spreadText(ours, 0)} ms, Hono alone ${spreadText(hono, 0)} ms`;
      return [{ name: "start-up: mayfly ÷ Hono", value: ours.median / hono.median, note }];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/** A configuration for workerd itself, without anything of Miniflare's. */
async function configOf(folder: string, name: string, code: string, port: number): Promise<string> {
  await writeFile(join(folder, `${name}.js`), code);
  const file = join(folder, `${name}.capnp`);
  await writeFile(
    file,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "index.js", esModule = embed "${name}.js")],
    compatibilityDate = "2026-10-01",
    compatibilityFlags = ["no_nodejs_compat", "no_nodejs_compat_v2"],
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`,
  );
  return file;
}

/** The program that the package `workerd` brings for this machine. */
const WORKERD = z.object({ default: z.string() }).parse(createRequire(import.meta.url)("workerd")).default;

async function firstByte(config: string, port: number): Promise<number> {
  const began = performance.now();
  const workerd = spawn(WORKERD, ["serve", config], { stdio: "ignore" });
  const gone = once(workerd, "exit");
  try {
    return (await answered(port, began)) - began;
  } finally {
    workerd.kill("SIGKILL");
    await gone;
  }
}

/** When the first byte of an answer came; tries to connect until somebody listens. */
function answered(port: number, began: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      if (performance.now() - began > GIVE_UP_MS) {
        reject(new Error("workerd does not answer"));
        return;
      }
      const socket = connect(port, "127.0.0.1");
      socket.once("error", () => setTimeout(attempt, 1));
      socket.once("connect", () => socket.write("GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
      socket.once("data", () => {
        resolve(performance.now());
        socket.destroy();
      });
    };
    attempt();
  });
}
