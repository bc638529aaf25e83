// `npm run deploy`.
import { fileURLToPath } from "node:url";
import { readArguments } from "./deploy/arguments.ts";
import { deploy } from "./deploy/run.ts";
import { processTerminal } from "./deploy/terminal.ts";

try {
  process.exitCode = await deploy(readArguments(process.argv.slice(2)), {
    root: fileURLToPath(new URL("..", import.meta.url)),
    env: process.env,
    terminal: processTerminal(),
    fetch: (input, init) => fetch(input, init),
    now: () => Date.now(),
    say: (line) => console.log(line),
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
