/** What is wrong in how rows, answers and settings are read. */
import type { Mutant } from "./mutant.ts";

export const READING: readonly Mutant[] = [
  {
    name: "words of another version",
    broken:
      "a row that ended for a reason that this version does not know cannot be read, nor can the list that it is in",
    promise: "I8",
    file: "src/store/columns.ts",
    find: '(ROW_REASONS.find((word) => word === reason) ?? "unknown");',
    replace: '(ROW_REASONS.find((word) => word === reason) ?? odd("reason"));',
    caughtBy: ["test/store/readers.test.ts"],
  },
  {
    name: "missing is null",
    broken: "a row without a time is taken for one whose machine was never made, or never asked to go",
    promise: "I4",
    file: "src/store/columns.ts",
    find: "row[column] === null ? null : intOf(row, column);",
    replace: "(row[column] ?? null) === null ? null : intOf(row, column);",
    caughtBy: ["test/store/readers.test.ts"],
  },
  {
    name: "no labels to read",
    broken: "a machine whose labels cannot be read passes for one that has none",
    promise: "I4",
    file: "src/driver/hetzner/server.ts",
    find: 'typeof pair[1] === "string"))\n    : null;',
    replace: 'typeof pair[1] === "string"))\n    : {};',
    caughtBy: ["test/driver/hetzner/server.test.ts"],
  },
  {
    name: "a told size",
    broken: "of an answer that comes packed its packed size is held against the limit",
    promise: "I8",
    file: "src/net/read-capped.ts",
    find: ' && !headers.has("Content-Encoding")',
    replace: "",
    caughtBy: ["test/net/read-capped.test.ts"],
  },
  {
    name: "settings for ever",
    broken: "a secret that was changed is taken as before, until the isolate ends",
    promise: "I10",
    file: "src/environment.ts",
    find: "known.get(env) ?? { said: read(env) };\n    known.set(env, kept);",
    replace: "known.get(known) ?? { said: read(env) };\n    known.set(known, kept);",
    caughtBy: ["test/environment.test.ts"],
  },
];
