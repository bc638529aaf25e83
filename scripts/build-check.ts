// `npm run build`: what a deploy would upload, and the promises about it that only the bundle can break.
import { buildBundle } from "./bundle.ts";

/** A little above what it weighs; one named import of `z` would add more, because it brings zod's locales along. */
const MOST_KIB = 460;
const { output, text } = buildBundle();
const kib = Number(/Total Upload: ([\d.]+) KiB/.exec(output)?.[1] ?? Number.NaN);

const faults = [
  Number.isNaN(kib) && `no size in what wrangler said:\n${output}`,
  kib > MOST_KIB && `the bundle has ${kib} KiB, and ${MOST_KIB} are allowed: what does it carry that it does not need?`,
  /["']node:/.test(text) && "the bundle names a Node API",
].filter((fault) => fault !== false);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`bundle: ${kib} KiB, no Node API`);
