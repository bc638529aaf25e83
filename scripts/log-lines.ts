// What the Worker logs, as far as the scripts beside this look at it.
import * as z from "zod";
import { jsonText } from "./json-text.ts";

const items = z.array(z.unknown());

const logLine = z.union([
  z.looseObject({
    event: z.literal("sweep"),
    /** Null when the sweep had nothing to tell. */
    id: z.number().nullable(),
    outcome: z.string(),
    phases: z
      .array(
        z.looseObject({
          phase: z.string(),
          destroyed: items,
          errors: items,
          alerts: items,
          remaining: items,
          failure: z.string().nullable(),
          why_remaining: z.string().nullable().default(null),
        }),
      )
      .default([]),
  }),
  z.looseObject({ event: z.enum(["request", "alert", "error"]) }),
]);
export type LogLine = z.infer<typeof logLine>;
export type SweepLine = Extract<LogLine, { event: "sweep" }>;

/** Reads a line; null when it is none of the Worker's own events. */
export function readLogLine(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  const parsed = jsonText.pipe(logLine).safeParse(line);
  return parsed.data ?? null;
}
