// `npm run build`: what a deploy would upload, and the promises about it that only the bundle can break.
import { buildBundle } from "./bundle.ts";

/** A little above what it weighs; one named import of `z` would add more, because it brings zod's locales along. */
const MOST_KIB = 495;
/** The same as it is sent. What it consists of, and what is not to be had: docs/decisions/size-of-the-bundle.md. */
const MOST_GZIP_KIB = 164;
const { output, text } = buildBundle();
const [, kib = Number.NaN, gzipKib = Number.NaN] =
  /Total Upload: ([\d.]+) KiB \/ gzip: ([\d.]+) KiB/.exec(output)?.map(Number) ?? [];

const faults = [
  Number.isNaN(kib) && `no size in what wrangler said:\n${output}`,
  kib > MOST_KIB && `the bundle has ${kib} KiB, and ${MOST_KIB} are allowed: what does it carry that it does not need?`,
  gzipKib > MOST_GZIP_KIB && `packed the bundle has ${gzipKib} KiB, and ${MOST_GZIP_KIB} are allowed`,
  /["']node:/.test(text) && "the bundle names a Node API",
].filter((fault) => fault !== false);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`bundle: ${kib} KiB, ${gzipKib} KiB packed, no Node API`);
