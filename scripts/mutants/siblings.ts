/** Bugs of kinds that come back: behind the first page, a while without its end, a setting that changes, a row that is gone, an answer. */
import type { Mutant } from "./mutant.ts";

const PAGES = "test/http/pages.test.ts";
const BATCHES = "test/reaper/whole-batches.test.ts";
const UNTIL = "test/lifecycle/until-when.test.ts";
const SETTINGS = "test/lifecycle/settings-later.test.ts";
const LOST_LOCK = "test/reaper/lost-lock.test.ts";
const ODD_STATE = "test/reaper/odd-state.test.ts";
const DOCUMENT = "test/http/document.test.ts";
const ANSWERS = "test/http/answers.test.ts";

export const SIBLINGS: readonly Mutant[] = [
  {
    name: "the first tokens again",
    broken: "every page of the list of tokens is its first, and what is behind that is revoked by nobody",
    promise: "I10",
    file: "src/http/tokens.ts",
    find: "tokens.list(page, perPage)",
    replace: "tokens.list(1, perPage)",
    caughtBy: [PAGES],
  },
  {
    name: "keys on the second page",
    broken: "of the provider's list of keys the first page alone is read, and what is forgotten behind it stays",
    promise: "I1",
    file: "src/driver/hetzner/resources.ts",
    find: "number !== null; number = pages.next())",
    replace: 'number !== null; number = plural === "ssh_keys" ? null : pages.next())',
    caughtBy: [BATCHES],
  },
  {
    name: "the shorter word on a name",
    broken: "a name that was forbidden for a day is free after the minute for which it was forbidden once more",
    promise: "I10",
    file: "src/store/tombstones.ts",
    find: "until = max(until, excluded.until)",
    replace: "until = excluded.until",
    caughtBy: [UNTIL],
  },
  {
    name: "held long after",
    broken: "early deaths are held for hours after there was last anything to hold",
    promise: "I1",
    file: "src/reaper/allowance.ts",
    find: "const HELD_MS = 40 * 60_000;",
    replace: "const HELD_MS = 400 * 60_000;",
    caughtBy: [UNTIL],
  },
  {
    name: "released for a working day",
    broken: "a release of the blast cap lets everything die for hours",
    promise: "I4",
    file: "src/lifecycle/holds.ts",
    find: "const RELEASED_MS = 45 * 60_000;",
    replace: "const RELEASED_MS = 450 * 60_000;",
    caughtBy: [UNTIL],
  },
  {
    name: "twice a minute for an hour",
    broken: "an event that waits for a limit is tried as often after an hour as at first",
    promise: "I8",
    file: "src/hooks/carry-out.ts",
    find: "Math.min(SHORTEST_WAIT_MS * 2 ** Math.max(0, row.attempts - 1), LONGEST_WAIT_MS)",
    replace: "Math.min(SHORTEST_WAIT_MS + 0 * row.attempts, LONGEST_WAIT_MS)",
    caughtBy: [UNTIL],
  },
  {
    name: "nobody's firewall",
    broken: "what was made under an installation that was taken over is given up as not ours",
    promise: "I1",
    file: "src/machine/resource.ts",
    find: "if (!isOurs(seen, rules.installations)) return false;",
    replace: "if (!isOurs(seen, rules.installations.slice(0, 1))) return false;",
    caughtBy: [SETTINGS],
  },
  {
    name: "never taken over",
    broken: "the database goes on to belong to the installation before, and creates end with its name in the settings",
    promise: "I9",
    file: "src/lifecycle/installation.ts",
    find: "  await store.settings.moveInstallation(known, current);\n",
    replace: "",
    caughtBy: [SETTINGS],
  },
  {
    name: "no lock, no sweep",
    broken: "without the row of the lock each sweep believes that another one runs, and machines live on",
    promise: "I1",
    file: "src/store/lock.ts",
    find: "?? ((await current()) === null ? await restore(holder, now, until) : null);",
    replace: "?? null;",
    caughtBy: [LOST_LOCK],
  },
  {
    name: "reports of next year",
    broken: "while the time of the last report lies ahead, an idle sweep leaves none",
    promise: "I9",
    file: "src/reaper/sweep.ts",
    find: " || lastReportAt > report.finishedAt;",
    replace: ";",
    caughtBy: [ODD_STATE],
  },
  {
    name: "nonsense for ever",
    broken: "a catalogue that cannot be read refuses every create, and nobody asks for another",
    promise: "I9",
    file: "src/store/catalogues.ts",
    find: "parseFirst(ifReadable,",
    replace: "parseFirst(catalogueRow,",
    caughtBy: [ODD_STATE],
  },
  {
    name: "a path that nobody is told of",
    broken: "something is served that stands in no document",
    promise: "I10",
    file: "src/http/app.ts",
    find: "  deliveryRoutes(app);\n",
    replace: '  deliveryRoutes(app);\n  app.get("/v1/scope", (c) => c.json({ rules: c.get("scope").rules }));\n',
    caughtBy: [DOCUMENT],
  },
  {
    name: "under a second path",
    broken:
      "each route is served at a path that no document names, too, and no brake or check of its own knows that one",
    promise: "I10",
    file: "src/http/edge/route.ts",
    find: "    this.on(method, path, handler);\n",
    replace: "    this.on(method, [path, `${path}/`], handler);\n",
    caughtBy: [DOCUMENT],
  },
  {
    name: "no id where it went wrong",
    broken: "an answer that blames us has no X-Request-Id to report it by",
    promise: "I9",
    file: "src/http/app.ts",
    find: 'c.res.headers.set("X-Request-Id", requestId);',
    replace: 'if (c.res.status < 500) c.res.headers.set("X-Request-Id", requestId);',
    caughtBy: [ANSWERS],
  },
  {
    name: "problems without their type",
    broken: "a refusal that blames us is told as an ordinary answer",
    promise: "I9",
    file: "src/http/edge/problem.ts",
    find: '"Content-Type": "application/problem+json",',
    replace: '"Content-Type": status < 500 ? "application/problem+json" : "application/json",',
    caughtBy: [ANSWERS],
  },
];
