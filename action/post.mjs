// The last part of the step. It is told so here and not by what the first part has kept, which may have been killed before it kept anything.
process.env.MAYFLY_PART = "post";
await import("./dist/index.mjs");
