/** One event of the log: a JSON object without secrets, which Workers Logs indexes by field. */
export interface LogEvent {
  readonly event: "request" | "sweep" | "alert" | "error";
  readonly [field: string]: unknown;
}

export type Log = (event: LogEvent) => void;

/** Writes one JSON line an event. */
export const consoleLog: Log = (event) => console.log(JSON.stringify(event));
