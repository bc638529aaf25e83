import * as z from "zod";

/** Text that is JSON, as what it says; whatever it is that says so comes behind it by `pipe`. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("is not JSON");
    return z.NEVER;
  }
});
